// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_CAPI_SESSION_H_
#define ATTNRUN_CAPI_SESSION_H_

#include <utility>

#include "attnrun/c.h"
#include "attnrun/session.h"
#include "model_info.h"

struct attnrun_session_options {
  attnrun::SessionOptions options;
};

struct attnrun_session {
  explicit attnrun_session(attnrun::Session loaded)
      : session(std::move(loaded)),
        model(session.inputs(), session.outputs(), session.metadata()) {}

  const attnrun::Session session;
  const attnrun_model_info model;
};

#endif  // ATTNRUN_CAPI_SESSION_H_
