# SPDX-License-Identifier: Apache-2.0
import sys

from . import serve

serve(sys.argv[1])
