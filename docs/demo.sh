#!/bin/sh
# A recorded incident, from watch lines to answers. Run by `make demo`, which sets ARCFSM and ARCFSM_JOURNAL.
set -eu
: "${ARCFSM:=arcfsm}" "${ARCFSM_JOURNAL:=sqlite:///incident.db}"
export ARCFSM_JOURNAL
set_name=ci-runners/ci-linux

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
run() { printf '\n$ arcfsm'; printf ' %s' "$@"; printf '\n'; "$ARCFSM" "$@"; }
# Exit code 1 is an answer ("there is a stall"), not a failure of the demo.
ask() { run "$@" || [ $? -eq 1 ]; }

say "1. What a cluster said for a minute: an operator changed the runner image while two runners were busy."
run import --sample spec-update-with-busy-runner

say "2. Which phases did the sets and listeners go through?"
run audit transitions --scale-set "$set_name" --kind scale-set --kind runner-set --kind listener

say "3. It fell silent. Does anything wait that nobody will serve?"
ask audit stalls

say "4. Why?"
run why "runner-set/$set_name"

say "5. Where would arcfsm have decided otherwise?"
ask audit decisions --diverging

say "6. Is the journal whole, and would this version decide the same again?"
run journal verify
run replay --verify

say "Next"
cat <<'END'
  arcfsm state                          everything, as it was at the end; --at travels back
  arcfsm why runner/NAMESPACE/NAME      one runner's story, backwards
  arcfsm import FILE --format watch     your own: kubectl get ... -w --output-watch-events -o json > FILE
END
printf '\nThis journal is %s; set ARCFSM_JOURNAL to ask it more.\n' "$ARCFSM_JOURNAL"
