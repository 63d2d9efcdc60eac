//! Figures that others count, written as the text of OpenMetrics at each scrape.

use std::fmt::{Display, Write as _};

use crate::sandbox::OwnProcess;
use crate::store::DatabaseFigures;

/// The cluster as this server sees it.
#[derive(Clone, Copy, Debug, Default)]
pub struct ClusterFigures {
    /// Homes that this server owns.
    pub homes: usize,
    /// Servers that live, with this one.
    pub servers: usize,
}

/// A figure without labels.
struct Figure<'a> {
    name: &'a str,
    unit: &'a str,
    help: &'a str,
}

impl Figure<'_> {
    fn gauge(&self, to: &mut String, value: impl Display) {
        self.describe(to, "gauge");
        // Writing to a String cannot fail.
        let _ = writeln!(to, "{} {value}", self.name);
    }

    fn counter(&self, to: &mut String, value: impl Display) {
        self.describe(to, "counter");
        let _ = writeln!(to, "{}_total {value}", self.name);
    }

    fn describe(&self, to: &mut String, kind: &str) {
        let Self { name, unit, help } = self;
        let _ = writeln!(to, "# HELP {name} {help}.\n# TYPE {name} {kind}");
        if !unit.is_empty() {
            let _ = writeln!(to, "# UNIT {name} {unit}");
        }
    }
}

/// Adds what every server has under these names.
pub fn add_process(to: &mut String, process: &OwnProcess) {
    let mut gauge = |name: &str, unit: &str, help: &str, value: Option<f64>| {
        if let Some(value) = value {
            Figure { name, unit, help }.gauge(to, value);
        }
    };
    let count = |value: Option<u64>| value.map(|value| value as f64);
    gauge("process_resident_memory_bytes", "bytes", "Resident memory", count(process.memory));
    gauge("process_open_fds", "", "Open file descriptors", count(process.open_files));
    gauge("process_max_fds", "", "Limit of open file descriptors", count(process.max_files));
    gauge("process_start_time_seconds", "seconds", "Start of the process, in Unix time", process.started_at);
    if let Some(seconds) = process.cpu_seconds {
        Figure { name: "process_cpu_seconds", unit: "seconds", help: "Processor time" }.counter(to, seconds);
    }
}

/// Adds what a server has done with the database of its homes.
pub fn add_database(to: &mut String, figures: &DatabaseFigures) {
    let mut counter = |name: &str, help: &str, value: u64| Figure { name, unit: "", help }.counter(to, value);
    counter("miniclaw_database_claims", "Claims of homes", figures.claims);
    let help = "Claims of homes whose owner had not given them up";
    counter("miniclaw_database_takeovers", help, figures.takeovers);
    counter("miniclaw_database_writes", "Writes that the database has confirmed", figures.writes);
    let help = "Writes that were refused because this server did not own the home any more";
    counter("miniclaw_database_fenced_writes", help, figures.fenced_writes);
    let help = "Attempts to write whose outcome was not known at first";
    counter("miniclaw_database_doubtful_writes", help, figures.doubtful_writes);
    let help = "Time that confirmed writes took together";
    let seconds = figures.write_time.as_secs_f64();
    Figure { name: "miniclaw_database_write_seconds", unit: "seconds", help }.counter(to, seconds);
    let help = "Connections that write, or are being closed";
    Figure { name: "miniclaw_database_busy_connections", unit: "", help }.gauge(to, figures.busy_connections);
}

/// Adds what a member of a cluster sees of it.
pub fn add_cluster(to: &mut String, figures: ClusterFigures) {
    let mut gauge = |name: &str, help: &str, value: usize| Figure { name, unit: "", help }.gauge(to, value);
    gauge("miniclaw_cluster_homes_owned", "Homes that this server owns", figures.homes);
    gauge("miniclaw_cluster_servers_alive", "Servers that live, as this one saw last", figures.servers);
}
