//! The checks of `miniclaw doctor` about what a server stands on: the database, TLS, the disk, and limits of the system. Each line
//! that begins with `problem` says what to do.

use std::path::Path;
use std::time::Duration;

use crate::api::Tls;
use crate::clock;
use crate::config::{Config, DatabaseConfig};
use crate::sandbox::{OwnProcess, open_as_many_files_as_allowed};
use crate::store::{Checkup, Database, DatabaseError, DiskSpace, LossPolicy, latest_version};

/// Below this, a server runs out of room soon: for one model's answers not, but for a backup or a project.
const FEW_BYTES: u64 = 1 << 30;
const FEW_FILES: u64 = 10_000;
/// Each open stream, library and process takes some.
const FEW_DESCRIPTORS: u64 = 4_096;
/// The clocks of the database and of this machine may differ by this, in seconds.
const CLOCK: f64 = 2.0;
/// A commit that takes longer is felt: a work has about twelve.
const SLOW_COMMIT: Duration = Duration::from_millis(50);

/// What was found, in lines.
#[derive(Debug, Default, PartialEq)]
pub struct Findings {
    pub lines: Vec<String>,
    /// Whether the server could not start, or could lose something.
    pub is_bad: bool,
}

impl Findings {
    fn note(&mut self, line: String) {
        self.lines.push(line);
    }

    fn problem(&mut self, line: String) {
        self.lines.push(format!("problem    {line}"));
        self.is_bad = true;
    }

    fn warning(&mut self, line: String) {
        self.lines.push(format!("warning    {line}"));
    }
}

/// Checks everything that this server stands on.
pub async fn checked(home: &Path, config: &Config) -> Findings {
    let mut findings = Findings::default();
    if let Some(database) = &config.database {
        match looked_at(database).await {
            Ok(checkup) => database_lines(&mut findings, &checkup, database.loss),
            Err(error) => {
                findings.note(format!("database   {}", database.address));
                findings.problem(format!("{}: {error}", error.code()));
            }
        }
    }
    tls_lines(&mut findings, home, config);
    match DiskSpace::of(home) {
        Ok(space) => disk_lines(&mut findings, &space),
        Err(error) => findings.warning(format!("the disk of {} cannot be looked at ({error})", home.display())),
    }
    open_as_many_files_as_allowed();
    limit_lines(&mut findings, OwnProcess::now(clock::now()).max_files);
    findings
}

async fn looked_at(config: &DatabaseConfig) -> Result<Checkup, DatabaseError> {
    Database::connect(&config.address).await?.checkup(config.loss).await
}

fn database_lines(findings: &mut Findings, checkup: &Checkup, loss: LossPolicy) {
    let commit = checkup.commit.as_secs_f64() * 1e3;
    findings.note(format!("database   PostgreSQL {}; a commit takes {commit:.1} ms", checkup.info.version));
    let (found, needed) = (checkup.schema.version(), latest_version());
    if found < needed {
        findings.problem(format!("its tables have version {found} of {needed}; run `miniclaw db migrate`"));
    }
    if found > needed {
        findings.note(format!("tables     version {found}, which a newer miniclaw made; this one works with it"));
    }
    if let Some(setting) = &checkup.info.not_durable {
        findings
            .warning(format!("{setting}: a crash of the database can lose what was said to be stored (accept_loss)"));
    }
    match (checkup.standbys, checkup.synchronous.is_empty()) {
        (0, true) => {}
        (0, false) => findings.problem(format!(
            "commits wait for a standby ({}), and none is connected: nothing can be stored. Start one, or set \
             synchronous_standby_names to ''",
            checkup.synchronous
        )),
        (standbys, false) => findings.note(format!("standbys   {standbys}; commits wait for {}", checkup.synchronous)),
        (standbys, true) => {
            let line = format!(
                "no commit waits for any of the {standbys} standbys, so a failover to one can lose what was said to be stored. Set \
                 synchronous_standby_names to 'ANY 1 (*)', or write accept_loss: true to `store`"
            );
            if loss == LossPolicy::Accept { findings.warning(line) } else { findings.problem(line) }
        }
    }
    if checkup.clock_ahead.abs() > CLOCK {
        findings.warning(format!(
            "the clock of the database differs by {:.1} s from the one of this machine; let both follow NTP",
            checkup.clock_ahead
        ));
    }
    if checkup.commit > SLOW_COMMIT {
        findings.warning(format!(
            "a commit takes {commit:.0} ms, and a work has about twelve; put the database nearer, or on a faster disk"
        ));
    }
    match (&checkup.vector, &checkup.available_vector) {
        (Some(version), _) => findings.note(format!("pgvector   {version}")),
        (None, Some(version)) => {
            findings.note(format!("pgvector   {version} could be installed; only libraries in the database need it"))
        }
        (None, None) => findings.note("pgvector   is not there; only libraries in the database need it".to_owned()),
    }
}

fn tls_lines(findings: &mut Findings, home: &Path, config: &Config) {
    if !config.tls.is_set() {
        return;
    }
    let opened = std::path::absolute(home).map(|home| Tls::open(&config.tls.beneath(&home), &home));
    match opened {
        Ok(Ok(tls)) => findings
            .note(format!("tls        the certificate is valid until {}", clock::rfc3339(tls.valid_until() as f64))),
        Ok(Err(error)) => findings.problem(error.to_string()),
        Err(error) => findings.problem(format!("the home cannot be found ({error})")),
    }
}

fn disk_lines(findings: &mut Findings, space: &DiskSpace) {
    let gibibytes = |bytes: u64| bytes as f64 / f64::from(1 << 30);
    findings.note(format!("disk       {:.1} of {:.1} GiB are free", gibibytes(space.free), gibibytes(space.total)));
    if space.free < FEW_BYTES {
        findings.warning("less than 1 GiB is free: a full disk stops every work. Free some space".to_owned());
    }
    if space.free_files.is_some_and(|files| files < FEW_FILES) {
        findings
            .warning("the file system can hold few more files (inodes): delete some, or use another one".to_owned());
    }
}

fn limit_lines(findings: &mut Findings, files: Option<u64>) {
    let Some(files) = files else { return };
    findings.note(format!("limits     {files} open files"));
    if files < FEW_DESCRIPTORS {
        findings.warning(format!(
            "{files} open files are few for many open pages and projects; raise the limit: LimitNOFILE=65536 of the service, or \
             `ulimit -n`"
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{DatabaseInfo, SchemaState};

    fn good() -> Checkup {
        Checkup {
            info: DatabaseInfo { version: "18.4".to_owned(), not_durable: None },
            schema: SchemaState::Version(latest_version()),
            synchronous: String::new(),
            standbys: 0,
            clock_ahead: 0.1,
            vector: Some("0.8.5".to_owned()),
            available_vector: Some("0.8.5".to_owned()),
            commit: Duration::from_micros(3_600),
        }
    }

    fn said(checkup: &Checkup, loss: LossPolicy) -> Findings {
        let mut findings = Findings::default();
        database_lines(&mut findings, checkup, loss);
        findings
    }

    #[test]
    fn good_database_has_no_problem() {
        let findings = said(&good(), LossPolicy::Refuse);
        assert_eq!(findings.lines, ["database   PostgreSQL 18.4; a commit takes 3.6 ms", "pgvector   0.8.5"]);
        assert!(!findings.is_bad);
        let quorum = Checkup { standbys: 2, synchronous: "ANY 1 (*)".to_owned(), ..good() };
        let findings = said(&quorum, LossPolicy::Refuse);
        assert!(!findings.is_bad && findings.lines[1] == "standbys   2; commits wait for ANY 1 (*)", "{findings:?}");
    }

    #[test]
    fn each_danger_says_what_to_do() {
        let cases = [
            (Checkup { standbys: 1, ..good() }, true, "ANY 1 (*)"),
            (Checkup { synchronous: "ANY 1 (*)".to_owned(), ..good() }, true, "Start one"),
            (Checkup { schema: SchemaState::Empty, ..good() }, true, "miniclaw db migrate"),
            (Checkup { clock_ahead: -9.0, ..good() }, false, "NTP"),
            (Checkup { commit: Duration::from_millis(80), ..good() }, false, "faster disk"),
            (Checkup { vector: None, available_vector: None, ..good() }, false, "is not there"),
        ];
        for (checkup, is_bad, word) in cases {
            let findings = said(&checkup, LossPolicy::Refuse);
            assert!(findings.is_bad == is_bad && findings.lines.iter().any(|line| line.contains(word)), "{findings:?}");
        }
        let accepted = said(&Checkup { standbys: 1, ..good() }, LossPolicy::Accept);
        assert!(!accepted.is_bad && accepted.lines.iter().any(|line| line.starts_with("warning")), "{accepted:?}");
    }

    #[test]
    fn little_room_and_low_limits_are_named() {
        let mut findings = Findings::default();
        disk_lines(&mut findings, &DiskSpace { free: 5 << 20, total: 1 << 30, free_files: Some(3) });
        limit_lines(&mut findings, Some(1_024));
        let warnings = findings.lines.iter().filter(|line| line.starts_with("warning")).count();
        assert!(warnings == 3 && !findings.is_bad, "{findings:?}");
        let mut findings = Findings::default();
        disk_lines(&mut findings, &DiskSpace { free: 5 << 30, total: 9 << 30, free_files: None });
        limit_lines(&mut findings, Some(65_536));
        assert_eq!(findings.lines, ["disk       5.0 of 9.0 GiB are free", "limits     65536 open files"]);
    }
}
