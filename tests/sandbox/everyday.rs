//! Everyday jobs of an agent must work in every confinement.

use miniclaw::sandbox::{Exit, Level};

use crate::kit::{HomeAccess, confined_levels, has, home, skipped};

/// Name of the job, the program it needs, and the commands.
const JOBS: [(&str, &str, &str); 35] = [
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
    (
        "git: clone of a local repository",
        "git",
        "git clone -q r r2 && git -C r2 log --oneline | grep -q m && git clone -q --bare r r3",
    ),
    (
        "C compiler: threads and libraries",
        "gcc",
        "printf '#include <pthread.h>\\n#include <math.h>\\n#include <stdio.h>\\nvoid*f(void*p){return p;}int main(void){pthread_t t;\
      pthread_create(&t,0,f,0);pthread_join(t,0);printf(\"%%f\",sqrt(2));return 0;}' > t.c && gcc -O2 -Wall t.c -o t-c -lm -lpthread && ./t-c && ar rc l.a t.c && make --version",
    ),
    (
        "Python: shared memory and locks",
        "python3",
        "python3 -c 'import multiprocessing as m\nfrom multiprocessing.shared_memory import SharedMemory\n\
      s=SharedMemory(None,True,64); l=m.Lock(); q=m.Queue()\np=m.Process(target=q.put,args=(3,)); p.start(); print(q.get()); p.join(); s.close(); s.unlink()'",
    ),
    (
        "Python: process pool",
        "python3",
        "python3 -c 'from concurrent.futures import ProcessPoolExecutor as P\nwith P(2) as p: print(list(p.map(abs,[-1,2])))'",
    ),
    (
        "Python: a virtual environment",
        "python3",
        "python3 -m venv --without-pip v && v/bin/python -c 'import sys; print(sys.prefix)'",
    ),
    (
        "Python: asyncio subprocesses",
        "python3",
        "python3 -c 'import asyncio\nasync def f():\n p=await asyncio.create_subprocess_exec(\"true\"); return await p.wait()\n\
      print(asyncio.run(f()))'",
    ),
    (
        "pip: a local wheel",
        "pip3",
        "python3 - <<'X' && python3 -m pip install -q --no-index --no-cache-dir --target lib ./hi-1.0-py3-none-any.whl && PYTHONPATH=lib python3 -c 'import hi'\n\
import zipfile\nz = zipfile.ZipFile('hi-1.0-py3-none-any.whl', 'w')\nd = 'hi-1.0.dist-info/'\nz.writestr('hi.py', '')\n\
z.writestr(d + 'METADATA', 'Metadata-Version: 2.1\\nName: hi\\nVersion: 1.0\\n')\n\
z.writestr(d + 'WHEEL', 'Wheel-Version: 1.0\\nGenerator: x\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')\n\
z.writestr(d + 'RECORD', 'hi.py,,\\n' + d + 'METADATA,,\\n' + d + 'WHEEL,,\\n' + d + 'RECORD,,\\n')\nz.close()\nX",
    ),
    (
        "numpy with threads",
        "numpy",
        "OPENBLAS_NUM_THREADS=2 python3 -c 'import numpy as n; a=n.random.rand(400,400); print((a@a).sum(), n.linalg.svd(a[:50,:50])[1][0])'",
    ),
    (
        "node: workers",
        "node",
        "node -e 'const {Worker}=require(\"worker_threads\"); const w=new Worker(\"require(\\\"worker_threads\\\").parentPort.postMessage(7)\",{eval:true}); \
      w.on(\"message\",m=>{console.log(m); process.exit(m===7?0:1)})'",
    ),
    (
        "node: child processes",
        "node",
        "node -e 'const c=require(\"child_process\"); console.log(c.execFileSync(\"echo\",[\"hi\"]).toString()); c.fork(\"-e\",[\"0\"])' 2>/dev/null; \
      node -e 'require(\"child_process\").spawn(\"true\").on(\"exit\",c=>process.exit(c))'",
    ),
    (
        "npm ci",
        "npm",
        "mkdir -p app/dep && cd app && echo '{\"name\":\"dep\",\"version\":\"1.0.0\"}' > dep/package.json && echo 'module.exports=7' > dep/index.js && \
      echo '{\"name\":\"app\",\"version\":\"1.0.0\",\"dependencies\":{\"dep\":\"file:dep\"}}' > package.json && npm install --offline --no-audit --no-fund --silent && \
      rm -rf node_modules && npm ci --offline --no-audit --no-fund --silent && node -e 'process.exit(require(\"dep\")===7?0:1)'",
    ),
    (
        "go build",
        "go",
        "mkdir -p g && cd g && printf 'package main\\nimport \"fmt\"\\nfunc main(){c:=make(chan int);go func(){c<-7}();fmt.Println(<-c)}\\n' > m.go && \
      GOFLAGS=-mod=mod GOCACHE=$PWD/cache GOPATH=$PWD/path go build -o m m.go && ./m | grep -qx 7",
    ),
    ("ripgrep", "rg", "mkdir -p s && echo needle > s/a && rg -q needle s"),
    ("ImageMagick", "/usr/bin/convert", "/usr/bin/convert -size 32x32 xc:red -resize 8x8 i.png && test -s i.png"),
    ("ffmpeg", "ffmpeg", "ffmpeg -v error -f lavfi -i testsrc=d=1:s=64x64:r=5 -threads 2 -y o.gif && test -s o.gif"),
];

pub async fn all_work(level: Level, access: HomeAccess) {
    let home = home(level, access);
    for (name, program, script) in JOBS {
        let is_there = if program == "numpy" { has_numpy() } else { has(program) };
        if !is_there {
            skipped(name, &format!("{program} is not installed (scripts/install-tools.sh sandbox)"));
            continue;
        }
        let done = home.bash(script).await;
        let said = format!("{} {}", done.stdout.text(), done.stderr.text());
        assert_eq!(done.exit, Exit::Code(0), "{level:?} {access:?} {name}: {said}");
    }
}

fn has_numpy() -> bool {
    let mut looked = std::process::Command::new("/usr/bin/python3");
    looked
        .args(["-c", "import numpy"])
        .stderr(std::process::Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Uses the toolchain that builds this test. rustup keeps it in a home folder, so the sandbox is told to make it
/// readable.
#[tokio::test]
async fn cargo_builds_at_every_level() {
    let sysroot = std::process::Command::new("rustc").args(["--print", "sysroot"]).output().unwrap().stdout;
    let sysroot = std::path::PathBuf::from(String::from_utf8(sysroot).unwrap().trim());
    for level in confined_levels() {
        let home = home(level, HomeAccess::Open);
        let script = "export PATH=$TOOLCHAIN/bin:$PATH && cargo init -q --vcs none --name hello c && cd c && cargo build -q --offline && \
                      ./target/debug/hello | grep -q Hello && cargo test -q --offline";
        let mut job = home.job(&["/bin/bash", "-c", script]);
        job.readable.push(sysroot.clone());
        job.env.push(("TOOLCHAIN".to_owned(), sysroot.display().to_string()));
        let done = home.run(job).await;
        assert_eq!(done.exit, Exit::Code(0), "{level:?}: {}{}", done.stdout.text(), done.stderr.text());
    }
}

#[tokio::test]
async fn everyday_commands_work_at_every_level() {
    for level in confined_levels() {
        for access in [HomeAccess::Open, HomeAccess::Private] {
            all_work(level, access).await;
        }
    }
}
