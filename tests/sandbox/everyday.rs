//! What people ask an agent for every day must work behind every fence.

use miniclaw::sandbox::{Exit, Level};

use crate::kit::{Place, fenced_levels, has, home, skipped};

/// What is done, the program it needs, the commands.
const JOBS: [(&str, &str, &str); 20] = [
    ("write and read", "bash", "mkdir -p a/b && echo hi > a/b/f && mv a c && cat c/b/f && rm -r c"),
    ("read what is allowed", "bash", "cat $HOME_ROOT/skills/SKILL.md"),
    ("a temporary file", "bash", "f=$(mktemp) && echo x > $f && grep -q x $f"),
    ("pipes and sorting", "bash", "set -o pipefail; seq 1000 | sort -rn | tail -3 >/dev/null"),
    ("process substitution", "bash", "diff <(echo a) <(echo a)"),
    ("a here document", "bash", "cat <<X\nhi\nX"),
    ("who am I", "bash", "id && test -n \"$HOME\""),
    ("archive", "tar", "echo x > t && tar czf t.tgz t && tar tzf t.tgz"),
    ("Python", "python3", "python3 -c 'import json,ssl,hashlib; print(json.dumps([1]))'"),
    ("Python: temporary file", "python3", "python3 -c 'import tempfile; tempfile.NamedTemporaryFile().write(b\"x\")'"),
    (
        "Python: subprocess",
        "python3",
        "python3 -c 'import subprocess; subprocess.run([\"ls\",\"/usr\"],check=True,capture_output=True)'",
    ),
    ("Python: asyncio", "python3", "python3 -c 'import asyncio; asyncio.run(asyncio.to_thread(print,1))'"),
    (
        "Python: multiprocessing",
        "python3",
        "python3 -c 'import multiprocessing as m\nprint(m.Pool(2).map(abs,[1,-2]))'",
    ),
    (
        "Python: threads",
        "python3",
        "python3 -c 'import threading\nfor i in range(20): threading.Thread(target=print).start()'",
    ),
    (
        "Python: sqlite",
        "python3",
        "python3 -c 'import sqlite3; c=sqlite3.connect(\"a.db\"); c.execute(\"create table t(a)\"); c.commit()'",
    ),
    ("sqlite", "sqlite3", "sqlite3 b.db 'create table t(a); insert into t values(7); select a from t;' | grep -qx 7"),
    (
        "git",
        "git",
        "git init -q r && cd r && git config user.email a@b && git config user.name n && echo x>f && git add f && git \
         commit -qm m && git log --oneline",
    ),
    ("node", "node", "node -e 'require(\"fs\").writeFileSync(\"n\",\"1\"); setTimeout(()=>console.log(1),1)'"),
    ("C compiler", "gcc", "echo 'int main(){return 0;}' > a.c && gcc a.c -o a && ./a"),
    ("awk and sed", "awk", "printf 'a b\\n' | awk '{print $2}' | sed s/b/c/ | grep -qx c"),
];

pub async fn all_work(level: Level, place: Place) {
    let home = home(level, place);
    for (name, program, script) in JOBS {
        if !has(program) {
            skipped(name, &format!("{program} is not installed (scripts/install-tools.sh sandbox)"));
            continue;
        }
        let done = home.bash(script).await;
        let said = format!("{} {}", done.stdout.text(), done.stderr.text());
        assert_eq!(done.exit, Exit::Code(0), "{level:?} {place:?} {name}: {said}");
    }
}

#[tokio::test]
async fn everyday_work_works_at_every_level() {
    for level in fenced_levels() {
        for place in [Place::Open, Place::Private] {
            all_work(level, place).await;
        }
    }
}
