#ifndef ATTNRUN_OPS_CONV_CONV_TILING_H_
#define ATTNRUN_OPS_CONV_CONV_TILING_H_

#include <cstdint>
#include <optional>

#include "ops/conv/conv.h"
#include "ops/conv/conv_primitive.h"

namespace attnrun {

// How a convolution is cut into calls of primitives. It depends on the shape of one image alone, so
// that results depend neither on the number of threads nor on other images.
//
// x is copied once: cut into `groups` of channels and those into `pieces`, each channels last, with
// the padding written out. Where windows do not overlap, every window is a position of its own
// whose channels are all that it holds, and the rest is a convolution of extent 1. A tile of y is
// `tile_rows` along the first axis by one block of features; its sum goes over pieces of channels
// and over parts of the kernel along that axis, each a call that adds to what the tile holds, so
// that no chain of additions is longer than those of matrix products.
struct ConvTiling {
  // Tells the elements of the copy: row (channel, tap) and column p of the patches of `source` are
  // its channel and its position. Positions from source_positions on hold zeros.
  SlidingWindow source;
  int64_t source_taps;
  int64_t source_positions;
  int64_t positions;
  // All rows, and all features, of an image.
  int64_t rows;
  int64_t features;

  // Groups, or of a depthwise convolution blocks of channels.
  int64_t groups;
  int64_t group_channels;
  int64_t group_features;
  bool depthwise;
  int64_t pieces;
  int64_t piece_channels;
  int64_t blocks;
  int64_t block_features;
  int64_t tap_parts;
  int64_t part_taps;

  // Of the convolution on the copy, per axis.
  Shape kernel;
  Shape strides;
  Shape dilations;
  Shape extents;
  Shape output;
  // The product of all extents of output but the first.
  int64_t row_positions;
  // Of all tiles, though the last may hold fewer that count.
  int64_t tile_rows;

  int64_t tiles() const { return (output[0] + tile_rows - 1) / tile_rows; }
  int64_t RowsOf(int64_t tile) const;
  // Floats of one piece, and of the copy of one image.
  int64_t piece_size() const { return positions * piece_channels; }
  int64_t image_size() const { return groups * pieces * piece_size(); }
  // Floats from one position along the first axis to the next.
  int64_t row_size() const { return positions / extents[0] * piece_channels; }
  int64_t calls_per_tile() const { return pieces * tap_parts; }
  // What the primitive for a tile's first call (with the bias, if any) computes, and for the
  // others.
  ConvPrimitiveShape FirstCall(bool bias) const;
  ConvPrimitiveShape OtherCalls() const;

 private:
  ConvPrimitiveShape Call() const;
};

// Whether every window is one element, in order: the patches of x are x itself.
bool IsPointwise(const ConvShape& shape);

// Null where primitives do not help: windows that overlap along more than three axes, little to
// sum, or windows that lie mostly in the padding.
std::optional<ConvTiling> TileConv(const ConvShape& shape);

}  // namespace attnrun

#endif  // ATTNRUN_OPS_CONV_CONV_TILING_H_
