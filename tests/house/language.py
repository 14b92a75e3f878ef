# SPDX-License-Identifier: Apache-2.0
"""Comments begin with a subject: no sentence begins with What, Whether, Of or That."""

import re

from source import FOLDERS, Files, Finding, comments, in_folders

SENTENCE = re.compile(r"(?:^|[.:] )(What|Whether|Of|That) [^.:]*")


def check(files: Files) -> list[Finding]:
    findings = []
    for path, text in in_folders(files, (*FOLDERS, "CMakeLists.txt"), ""):
        for line, comment in comments(path, text):
            for found in SENTENCE.finditer(comment):
                what = f"a sentence begins with {found[1]}: \"{found[0].lstrip('.: ')[:60]}\""
                findings.append(Finding(path, line, what, "say it as subject, verb, object"))
    return findings
