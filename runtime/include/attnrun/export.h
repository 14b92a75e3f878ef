// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_EXPORT_H_
#define ATTNRUN_EXPORT_H_

// Marks what libattnrun.so exports. attnrun's own sources are compiled so that all else is hidden.
#define ATTNRUN_EXPORT __attribute__((visibility("default")))

#endif  // ATTNRUN_EXPORT_H_
