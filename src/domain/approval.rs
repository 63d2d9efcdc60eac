//! An approval: what a person was shown of a call, what they answered, and the hash that binds the answer to it.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::elicitation::{Elicitation, ElicitationAnswer};
use super::ids::{SessionId, WorkId};
use super::path::BadPath;
use super::place::Place;
use super::session::Session;
use super::tool::Effect;

/// What a person sees before they answer. Invisible characters, and characters that change how others are displayed,
/// are escaped.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Shown {
    /// What would be done: the command line, the code, the address, or the change in one line. Never truncated.
    pub command: String,
    /// Working folder relative to the home; empty if it does not apply.
    pub cwd: String,
    /// Whether the process could reach other machines.
    pub network: bool,
    /// Folders of the home that the process could read and that commands cannot see otherwise: `knowledge`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reads: Vec<String>,
    /// Names of the project's secrets that the process would get as variables.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub secrets: Vec<String>,
    /// Host of the page that would be fetched, with its port unless that is the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Sandbox level of the process; empty if no process is started.
    pub level: String,
    /// Hash of the tool's definition, if a program that is not ours wrote it. An answer is bound to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition: Option<String>,
    /// Unified diff of the change to a file.
    pub diff: Option<String>,
    /// The file that would be changed.
    pub path: Option<String>,
    /// Hash of that file when this was shown; absent if the file did not exist.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// What the call did when it was rehearsed. Approving it applies exactly that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rehearsal: Option<Rehearsed>,
    /// What the server of the tool asks for while it carries out the call. Then the answer is that, and not whether it may run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elicitation: Option<Box<Elicitation>>,
}

/// What a call did in a rehearsal: a run whose changes of files were kept apart.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Rehearsed {
    /// How it ended, in a few words: `exit code 0`.
    pub outcome: String,
    /// What the model will read of its output; at most about 5,000 characters.
    pub output: String,
    /// Number of files, links and folders that it would create, change and delete.
    pub created: usize,
    pub changed: usize,
    pub deleted: usize,
    /// Entries that cannot be applied, with the reason in a few words each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<String>,
    /// Files that it creates or changes and that other programs run later, outside of the sandbox; all of them. Invisible
    /// characters are escaped.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub runs_later: Vec<String>,
    /// Hosts that it asked for, in vain: it had no network. Sorted, at most 200, each `name`, or `name:port` unless the port
    /// is 80 or 443. Invisible characters are escaped.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
    /// Number of requests for other hosts, for which the list has no room.
    #[serde(default, skip_serializing_if = "super::is_zero")]
    pub more_hosts: u64,
    /// Files whose content before could not be kept, so that an undo could not bring it back; at most 20. What is kept when
    /// the changes are applied may differ, because the room for it may.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_kept: Vec<UnkeptFile>,
    /// Number of further such files.
    #[serde(default, skip_serializing_if = "super::is_zero")]
    pub more_not_kept: u64,
    /// SHA-256 over all changes, in hexadecimal. An answer is bound to it.
    pub hash: String,
}

impl Rehearsed {
    /// Returns whether applying it would change no file.
    pub fn changes_nothing(&self) -> bool {
        self.created + self.changed + self.deleted == 0
    }
}

/// Whether a person can have a waiting command rehearsed before they answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(tag = "state", rename_all = "lowercase")]
pub enum RehearsalState {
    Available,
    /// It is being rehearsed. Then it is asked about again, with the same id and what it would change.
    Running,
    Unavailable {
        /// As [`ApprovalReason::obstacle`], or `unread` if what it changed in a rehearsal could not be read.
        obstacle: String,
        /// The same as an English sentence.
        why: String,
    },
}

/// A file that an undo could not bring back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct UnkeptFile {
    /// Relative to the project's folder. What is not visible text is escaped.
    pub path: String,
    /// Length of its content in bytes.
    pub size: u64,
    pub why: UnkeptReason,
}

/// Why the content of a file is not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum UnkeptReason {
    /// It has more than 512 MiB.
    TooLarge,
    /// All kept contents together would exceed the limit `undo.kept_mib`.
    LimitReached,
}

impl Shown {
    /// Returns whether it is a change of a file of the persona, the memory or the skills. A path that cannot be parsed
    /// counts as one.
    pub fn changes_persona(&self) -> bool {
        let is_one = |path: &String| match Place::parse(path) {
            Ok(place) => place.root().is_persona(),
            Err(BadPath::Outside(_)) => false,
            Err(_) => true,
        };
        self.path.as_ref().is_some_and(is_one)
    }
}

/// Why a person is asked, in codes, so that a page can say in its own language what `reason` says in English.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct ApprovalReason {
    /// `persona`, `secrets`, `network`, `reads`, `outside`, `unfenced`, `rehearsed`, `unrehearsed`, `definition`, `elicitation` or `configured`. A later version may add others.
    pub code: String,
    /// Source of text in the conversation that strangers may have written: `page`, `document`, `attachment`, `command`,
    /// `skill`, `output`, `imported` or `outside`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text_from: Option<String>,
    /// Address, path or name of that source. Invisible characters are escaped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// With `unrehearsed`: why the effect cannot be shown before, as `tool`, `network`, `secrets`, `background`, `off` (the sandbox is off), `strict`
    /// (its level) or `system`. A later version may add others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub obstacle: Option<String>,
}

/// A call that waits for a person.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Approval {
    pub id: String,
    #[schema(value_type = String)]
    pub session_id: SessionId,
    #[schema(value_type = String)]
    pub work_id: WorkId,
    pub call_id: String,
    pub tool: String,
    pub effect: Effect,
    pub arguments: Value,
    pub shown: Shown,
    /// Why the person is asked, in one sentence.
    pub reason: String,
    /// The same reason as a code; absent in questions of an earlier version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<ApprovalReason>,
    /// Whether the command can be rehearsed now. Absent if it has been (`shown.rehearsal`), if the tool runs no command, and in
    /// questions of an earlier version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rehearsal: Option<RehearsalState>,
    /// SHA-256 over tool, arguments, place and session, in hexadecimal. An answer is bound to it.
    pub hash: String,
    /// Unix seconds.
    pub asked_at: f64,
    pub expires_at: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    Approved,
    Denied,
    /// Nobody answered in time.
    Expired,
    /// The run was stopped before anybody answered.
    Cancelled,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    Once,
    /// The same call with exactly these arguments in the same place is not asked about again.
    Always,
}

/// How an approval was decided.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ApprovalAnswer {
    pub decision: Decision,
    pub scope: Scope,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The person's own arguments, which replace the model's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Value>,
    /// Hash of what was approved: the hash that was shown, or that of the person's own arguments.
    pub hash: String,
    /// The answer to what a server asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elicited: Option<Box<ElicitationAnswer>>,
}

impl ApprovalAnswer {
    /// Returns an answer that does not let the call run.
    pub fn no(decision: Decision, reason: Option<String>, hash: &str) -> Self {
        Self { decision, scope: Scope::Once, reason, arguments: None, hash: hash.to_owned(), elicited: None }
    }
}

/// An answer as stored with its call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct RecordedAnswer {
    pub id: String,
    pub decision: Decision,
    pub scope: Scope,
    pub reason: Option<String>,
    /// Whether the person changed the arguments before approving.
    pub changed: bool,
    /// With `changed`: the arguments that the model had sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<Value>,
    pub hash: String,
    /// What the person saw; kept until the call starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shown: Option<Shown>,
    /// The answer to what a server asked for; kept until the call starts again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elicited: Option<Box<ElicitationAnswer>>,
}

impl RecordedAnswer {
    pub fn of(id: &str, answer: &ApprovalAnswer) -> Self {
        Self {
            id: id.to_owned(),
            decision: answer.decision,
            scope: answer.scope,
            reason: answer.reason.clone(),
            changed: answer.arguments.is_some(),
            asked: None,
            hash: answer.hash.clone(),
            shown: None,
            elicited: answer.elicited.clone(),
        }
    }
}

/// The approval of a tool call: the question while it waits, then the answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(untagged)]
pub enum CallApproval {
    Answered(Box<RecordedAnswer>),
    Asked(Box<Approval>),
}

impl CallApproval {
    pub fn id(&self) -> &str {
        match self {
            CallApproval::Answered(answered) => &answered.id,
            CallApproval::Asked(approval) => &approval.id,
        }
    }

    /// Returns what a server asks for, or has asked for, with this question.
    pub fn elicitation(&self) -> Option<&Elicitation> {
        let shown = match self {
            CallApproval::Asked(approval) => Some(&approval.shown),
            CallApproval::Answered(answered) => answered.shown.as_ref(),
        };
        shown?.elicitation.as_deref()
    }

    pub fn asked(&self) -> Option<&Approval> {
        match self {
            CallApproval::Asked(approval) => Some(approval),
            CallApproval::Answered(_) => None,
        }
    }

    pub fn answered(&self) -> Option<&RecordedAnswer> {
        match self {
            CallApproval::Answered(answered) => Some(answered),
            CallApproval::Asked(_) => None,
        }
    }
}

/// A call that a person allowed permanently: this tool, with exactly these arguments, in exactly this place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AlwaysAllowedCall {
    pub id: String,
    pub tool: String,
    pub arguments: Value,
    pub cwd: String,
    pub network: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reads: Vec<String>,
    pub level: String,
    /// Hash of the tool's definition, if a program that is not ours wrote it: the rule ends with this version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition: Option<String>,
    /// If present, the rule is for every page of exactly this host instead of one call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Unix seconds.
    pub added_at: f64,
}

impl AlwaysAllowedCall {
    /// Returns whether this rule covers the call. Never a pattern: two commands that differ in one character are two
    /// commands, and a host is not its subdomains. No rule covers a call with secrets.
    pub fn fits(&self, tool: &str, arguments: &Value, shown: &Shown) -> bool {
        if !shown.secrets.is_empty() {
            return false;
        }
        if self.host.is_some() {
            return self.tool == tool && self.host == shown.host;
        }
        self.tool == tool
            && self.definition == shown.definition
            && canonical(&self.arguments) == canonical(arguments)
            && (self.cwd.as_str(), self.network, &self.reads, self.level.as_str())
                == (shown.cwd.as_str(), shown.network, &shown.reads, shown.level.as_str())
    }
}

/// Returns JSON with sorted fields and without whitespace, so that equal values have equal texts whatever the order of
/// their fields.
pub fn canonical(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let mut sorted: Vec<_> = fields.iter().collect();
            sorted.sort_by_key(|(name, _)| *name);
            let fields = sorted.iter().map(|(name, field)| {
                let name = Value::String((*name).clone());
                format!("{name}:{}", canonical(field))
            });
            format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(canonical).collect::<Vec<_>>().join(",")),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.to_string(),
    }
}

/// Returns the hash that an answer is bound to: if any of these values changes, the answer does not apply to the call.
pub fn hash(session: &SessionId, tool: &str, arguments: &Value, shown: &Shown) -> String {
    let mut bound = serde_json::json!({
        "session": session,
        "tool": tool,
        "arguments": arguments,
        "cwd": shown.cwd,
        // All processes of a tool have the same environment; a call adds only secrets to it.
        "env": {},
        "level": shown.level,
        "network": shown.network,
        "path": shown.path,
        "before": shown.before,
    });
    // Omitted if nothing is read, so that questions of an earlier version keep their hash.
    if !shown.reads.is_empty() {
        bound["reads"] = shown.reads.clone().into();
    }
    if !shown.secrets.is_empty() {
        bound["secrets"] = shown.secrets.clone().into();
    }
    if let Some(definition) = &shown.definition {
        bound["definition"] = definition.clone().into();
    }
    if let Some(rehearsal) = &shown.rehearsal {
        bound["changes"] = rehearsal.hash.clone().into();
    }
    if let Some(elicitation) = &shown.elicitation {
        bound["elicitation"] = serde_json::json!(elicitation);
    }
    base16ct::lower::encode_string(&Sha256::digest(canonical(&bound)))
}

impl Session {
    /// Returns the questions of a work that nobody has answered, oldest first.
    pub fn unanswered<'s>(&'s self, work_id: &WorkId) -> Vec<&'s Approval> {
        let waiting = self.calls_of(work_id).filter(|call| call.waits());
        waiting.filter_map(|call| call.approval.as_ref()?.asked()).collect()
    }

    /// Returns a question of a work, or its answer.
    pub fn approval<'s>(&'s self, work_id: &WorkId, approval_id: &str) -> Option<&'s CallApproval> {
        let mut approvals = self.calls_of(work_id).filter_map(|call| call.approval.as_ref());
        approvals.find(|approval| approval.id() == approval_id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn shown() -> Shown {
        Shown { command: "ls".into(), cwd: "scratch/".into(), level: "standard".into(), ..Shown::default() }
    }

    #[test]
    fn recorded_change_of_persona_is_recognised() {
        let is = |path: &str| Shown { path: Some(path.to_owned()), ..Shown::default() }.changes_persona();
        for persona in
            ["memory/MEMORY.md", "././memory//x", "./skills/a/SKILL.md", "././/workspace/./SOUL.md", "../odd"]
        {
            assert!(is(persona), "{persona}");
        }
        for other in ["knowledge/x.md", "././knowledge/memory/x", "memory2/x", "project/a/memory/x"] {
            assert!(!is(other), "{other}");
        }
    }

    #[test]
    fn hash_changes_exactly_with_what_it_binds() {
        let [a, b] = ["a", "b"].map(|id| SessionId::parse(id).unwrap());
        let arguments = json!({"command": "ls", "network": false});
        let first = hash(&a, "terminal", &arguments, &shown());
        assert_eq!(first, hash(&a, "terminal", &json!({"network": false, "command": "ls"}), &shown()));
        assert_eq!(first.len(), 64);
        let others = [
            hash(&b, "terminal", &arguments, &shown()),
            hash(&a, "python_repl", &arguments, &shown()),
            hash(&a, "terminal", &json!({"command": "ls ", "network": false}), &shown()),
            hash(&a, "terminal", &arguments, &Shown { cwd: "/".into(), ..shown() }),
            hash(&a, "terminal", &arguments, &Shown { network: true, ..shown() }),
            hash(&a, "terminal", &arguments, &Shown { level: "off".into(), ..shown() }),
            hash(&a, "terminal", &arguments, &Shown { reads: vec!["knowledge".into()], ..shown() }),
            hash(&a, "terminal", &arguments, &Shown { secrets: vec!["TOKEN".into()], ..shown() }),
            hash(&a, "terminal", &arguments, &Shown { path: Some("memory/x.md".into()), ..shown() }),
            hash(&a, "terminal", &arguments, &Shown { definition: Some("00".into()), ..shown() }),
            hash(&a, "terminal", &arguments, &Shown { before: Some("00".into()), ..shown() }),
            hash(&a, "terminal", &arguments, &Shown { rehearsal: Some(Rehearsed::default()), ..shown() }),
        ];
        assert!(!others.contains(&first));
        // The hash in versions without `reads`: a question that waits must survive the upgrade.
        assert_eq!(first, "e2ce71718fc1ed4b3507fcadec101f7924a00bb7a45304a94693fafa7a33ceee");
    }

    #[test]
    fn always_binds_what_may_be_read_and_old_rules_read_nothing() {
        let rule = json!({"id": "r", "tool": "terminal", "arguments": {"command": "ls"}, "cwd": "scratch/",
            "network": false, "level": "standard", "added_at": 1.0});
        let old: AlwaysAllowedCall = serde_json::from_value(rule.clone()).unwrap();
        assert_eq!(serde_json::to_value(&old).unwrap(), rule);
        let arguments = json!({"command": "ls"});
        let reading = Shown { reads: vec!["knowledge".into()], ..shown() };
        assert!(old.fits("terminal", &arguments, &shown()) && !old.fits("terminal", &arguments, &reading));
        let new = AlwaysAllowedCall { reads: reading.reads.clone(), ..old };
        assert!(new.fits("terminal", &arguments, &reading) && !new.fits("terminal", &arguments, &shown()));
    }

    #[test]
    fn question_and_answer_are_distinct_in_file() {
        let approval = Approval {
            id: "i".into(),
            session_id: SessionId::parse("s").unwrap(),
            work_id: WorkId::new("w"),
            call_id: "c".into(),
            tool: "terminal".into(),
            effect: Effect::Execute,
            arguments: json!({"command": "ls"}),
            shown: shown(),
            reason: "it runs a command".into(),
            because: Some(ApprovalReason { code: "configured".into(), ..ApprovalReason::default() }),
            rehearsal: Some(RehearsalState::Unavailable { obstacle: "off".into(), why: "No.".into() }),
            hash: "h".into(),
            asked_at: 1.0,
            expires_at: 2.0,
        };
        let answered = RecordedAnswer {
            id: "i".into(),
            decision: Decision::Denied,
            scope: Scope::Once,
            reason: Some("no".into()),
            changed: false,
            asked: None,
            hash: "h".into(),
            shown: None,
            elicited: None,
        };
        let earlier = Approval { because: None, rehearsal: None, ..approval.clone() };
        let text = serde_json::to_string(&earlier).unwrap();
        assert!(!text.contains("because") && !text.contains("rehearsal"));
        let asked = [approval, earlier].map(|approval| CallApproval::Asked(Box::new(approval)));
        for both in asked.into_iter().chain([CallApproval::Answered(Box::new(answered))]) {
            let text = serde_json::to_string(&both).unwrap();
            assert_eq!(serde_json::from_str::<CallApproval>(&text).unwrap(), both);
        }
    }
}
