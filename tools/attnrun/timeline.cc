// SPDX-License-Identifier: Apache-2.0
#include "tools/attnrun/timeline.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/types/span.h"
#include "tools/attnrun/repetition.h"
#include "tools/attnrun/utf.h"

namespace attnrun::cli {
namespace {

// All in pixels.
constexpr double kLabels = 130;
constexpr double kBars = 1040;
constexpr double kWidth = kLabels + kBars + 20;
constexpr double kBarHeight = 26;
constexpr double kLineHeight = 34;
constexpr double kTop = 84;
// Width of a letter; text that does not fit into its bar is left out.
constexpr double kLetter = 7;

// Colours that most people with colour vision deficiency can distinguish (Okabe and Ito, 2008). The
// slowest operators have one each; the others share the last.
constexpr const char* kColours[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                    "#e69f00", "#56b4e9", "#777777"};
constexpr size_t kOwnColours = std::size(kColours) - 1;

std::string Escaped(const std::string& text) {
  return absl::StrReplaceAll(Printable(text),
                             {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}});
}

double Milliseconds(const ProfileRow& row) { return absl::ToDoubleMilliseconds(row.time); }

double Milliseconds(absl::Span<const ProfileRow> rows) {
  double sum = 0;
  for (const ProfileRow& row : rows) sum += Milliseconds(row);
  return sum;
}

// "Attention" for "attnrun.Attention".
std::string ShortName(const std::string& op_type) { return op_type.substr(op_type.rfind('.') + 1); }

std::string Text(double x, double y, const std::string& text) {
  return absl::StrFormat("<text x=\"%.1f\" y=\"%.1f\">%s</text>\n", x, y, Escaped(text));
}

std::string Rectangle(double x, double y, double width, double height, const std::string& colour,
                      double opacity) {
  return absl::StrFormat(
      "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"%s\" "
      "fill-opacity=\"%.2f\"/>",
      x, y, width, height, colour, opacity);
}

// One line of the drawing: the nodes before the layers, one layer, or the nodes after them.
struct Line {
  std::string label;
  absl::Span<const ProfileRow> nodes;
};

std::vector<Line> Lines(absl::Span<const ProfileRow> nodes) {
  std::vector<std::string> kinds;
  for (const ProfileRow& node : nodes) kinds.push_back(node.op_type);
  const Repetition layers = LongestRepetition(kinds);
  std::vector<Line> lines;
  if (layers.repeats == 0) return {{"all nodes", nodes}};
  if (layers.begin > 0) lines.push_back({"before", nodes.subspan(0, layers.begin)});
  for (size_t i = 0; i < layers.repeats; ++i) {
    lines.push_back({absl::StrCat("layer ", i),
                     nodes.subspan(layers.begin + i * layers.period, layers.period)});
  }
  const size_t end = layers.begin + layers.repeats * layers.period;
  if (end < nodes.size()) lines.push_back({"after", nodes.subspan(end)});
  return lines;
}

// The operators with their total times, slowest first.
std::vector<std::pair<std::string, double>> TimesOfOps(absl::Span<const ProfileRow> nodes) {
  std::map<std::string, double> times;
  for (const ProfileRow& node : nodes) times[node.op_type] += Milliseconds(node);
  std::vector<std::pair<std::string, double>> result(times.begin(), times.end());
  std::stable_sort(result.begin(), result.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  return result;
}

class Drawing {
 public:
  Drawing(absl::Span<const ProfileRow> nodes, double peak_gflops)
      : lines_(Lines(nodes)),
        ops_(TimesOfOps(nodes)),
        total_(Milliseconds(nodes)),
        peak_gflops_(peak_gflops) {
    for (const Line& line : lines_) longest_ = std::max(longest_, Milliseconds(line.nodes));
  }

  std::string Svg(const std::string& title) const {
    const double height = kTop + kLineHeight * static_cast<double>(lines_.size()) + 10;
    std::string svg = absl::StrFormat(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
        "font-family=\"sans-serif\" font-size=\"12\">\n"
        "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
        kWidth, height);
    absl::StrAppend(
        &svg, Text(10, 22, title),
        Text(10, 42,
             "The length of a bar is a node's time, its dark part the share that the node "
             "reaches of the machine's multiply-add peak."),
        Legend());
    double y = kTop;
    for (const Line& line : lines_) {
      absl::StrAppend(&svg, Row(line, y));
      y += kLineHeight;
    }
    return absl::StrCat(svg, "</svg>\n");
  }

 private:
  const char* Colour(const std::string& op_type) const {
    for (size_t i = 0; i < std::min(kOwnColours, ops_.size()); ++i) {
      if (ops_[i].first == op_type) return kColours[i];
    }
    return kColours[kOwnColours];
  }

  std::string Legend() const {
    std::string result;
    double x = 10;
    double others = 0;
    const auto entry = [&](const char* colour, const std::string& name, double ms) {
      const double share = total_ > 0 ? 100 * ms / total_ : 0;
      const std::string text = absl::StrFormat("%s %.1f %%", name, share);
      absl::StrAppend(&result, Rectangle(x, 55, 11, 11, colour, 1), Text(x + 15, 65, text));
      x += 32 + kLetter * static_cast<double>(text.size());
    };
    for (size_t i = 0; i < ops_.size(); ++i) {
      if (i < kOwnColours) {
        entry(kColours[i], ShortName(ops_[i].first), ops_[i].second);
      } else {
        others += ops_[i].second;
      }
    }
    if (ops_.size() > kOwnColours) entry(kColours[kOwnColours], "others", others);
    return result;
  }

  std::string Row(const Line& line, double y) const {
    const double middle = y + kBarHeight / 2 + 4;
    std::string result =
        Text(10, middle, absl::StrFormat("%s  %.4g ms", line.label, Milliseconds(line.nodes)));
    double x = kLabels;
    for (const ProfileRow& node : line.nodes) {
      const double width = longest_ > 0 ? kBars * Milliseconds(node) / longest_ : 0;
      absl::StrAppend(&result, Bar(node, x, y, width));
      x += width;
    }
    return result;
  }

  std::string Bar(const ProfileRow& node, double x, double y, double width) const {
    const double gflops = Milliseconds(node) > 0 ? node.flops / Milliseconds(node) / 1e6 : 0;
    const double share = peak_gflops_ > 0 ? std::min(1.0, gflops / peak_gflops_) : 0;
    const std::string name = ShortName(node.op_type);
    std::string hint = absl::StrFormat("%s  %s (%s): %.3f ms", node.op_type, node.node, node.kernel,
                                       Milliseconds(node));
    if (gflops > 0) {
      absl::StrAppendFormat(&hint, ", %.1f GFLOP/s, %.0f %% of peak", gflops, 100 * share);
    }
    // Leaves a thin gap between neighbours of the same colour.
    const double drawn = std::max(0.0, width - std::min(1.0, width / 4));
    const char* colour = Colour(node.op_type);
    const double dark = kBarHeight * share;
    std::string bar = absl::StrCat("<g><title>", Escaped(hint), "</title>",
                                   Rectangle(x, y, drawn, kBarHeight, colour, 0.35),
                                   Rectangle(x, y + kBarHeight - dark, drawn, dark, colour, 0.65));
    // Draws name and figure, or only the name, or nothing, whichever fits.
    for (const std::string& text : {absl::StrFormat("%s %.0f %%", name, 100 * share), name}) {
      if ((text != name && share == 0) || kLetter * static_cast<double>(text.size()) > drawn)
        continue;
      absl::StrAppend(&bar, Text(x + 3, y + kBarHeight / 2 + 4, text));
      break;
    }
    return absl::StrCat(bar, "</g>\n");
  }

  std::vector<Line> lines_;
  std::vector<std::pair<std::string, double>> ops_;
  // Milliseconds of all nodes, and of the longest line.
  double total_ = 0;
  double longest_ = 0;
  double peak_gflops_ = 0;
};

}  // namespace

std::string TimelineSvg(const std::vector<ProfileRow>& nodes, double peak_gflops,
                        const std::string& title) {
  return Drawing(nodes, peak_gflops).Svg(title);
}

}  // namespace attnrun::cli
