#ifndef ATTNRUN_WEIGHT_CACHE_SIGHTING_H_
#define ATTNRUN_WEIGHT_CACHE_SIGHTING_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "core/file_identity.h"
#include "weight_cache/content_hash.h"

namespace attnrun {

// What was found when the files of a model, and the packed file made from them, were last read
// whole: as long as they are the same files in the same state, that need not be done again.
struct Sighting {
  std::vector<FileIdentity> files;
  ContentHash content;
  FileIdentity packed;

  friend bool operator==(const Sighting&, const Sighting&) = default;
};

// nullopt if there is none at that path, or it is not whole.
std::optional<Sighting> ReadSighting(const std::string& path);

// Errors as ReplaceFile.
absl::Status WriteSighting(const std::string& path, const Sighting& sighting);

}  // namespace attnrun

#endif  // ATTNRUN_WEIGHT_CACHE_SIGHTING_H_
