//! Decides whether a call may run, needs approval, or is denied. A pure function of the configuration and the call.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use super::{Checked, Unrehearsable};
use crate::domain::mcp;
use crate::domain::visible::visible;
use crate::domain::{AlwaysAllowedCall, ApprovalReason, Effect, PermissionMode, Place, Shown, Taint};
use crate::sandbox::Level;

/// The configured rule for an effect or a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Rule {
    Allow,
    Ask,
    Deny,
    /// The call is run in the sandbox with its changes of files kept apart, and what it would change needs approval. A
    /// call that cannot be run like that needs approval first.
    Rehearse,
    /// Allowed if the call runs in the sandbox without network; otherwise needs approval.
    Sandboxed,
    /// Allowed even in a run that has read text from outside: for servers that nobody watches.
    Unattended,
}

/// One rule for each effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effects {
    pub read: Rule,
    pub write: Rule,
    pub execute: Rule,
    pub network: Rule,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    pub effects: Effects,
    /// Rules for tools; a tool's own rule overrides that of its effect.
    pub tools: BTreeMap<String, Rule>,
    /// Time limit for a person's answer.
    pub timeout: Duration,
    /// What a person has chosen for the conversation.
    pub mode: Option<PermissionMode>,
}

impl Default for Policy {
    /// Allows reading; writing, what programs change, and network access need approval.
    fn default() -> Self {
        let effects = Effects { read: Rule::Allow, write: Rule::Ask, execute: Rule::Rehearse, network: Rule::Ask };
        Self { effects, tools: BTreeMap::new(), timeout: Duration::from_secs(300), mode: None }
    }
}

/// The properties of a call that the policy uses.
#[derive(Clone, Debug)]
pub struct Case<'a> {
    pub tool: &'a str,
    pub effect: Effect,
    pub arguments: &'a Value,
    pub shown: &'a Shown,
    /// The files that it changes.
    pub changes: &'a [Place],
    /// Sandbox level of the process that it starts.
    pub level: Option<Level>,
    /// Why it cannot be rehearsed; `None` if it can.
    pub unrehearsable: Option<Unrehearsable>,
    pub server: ServerRule,
    /// The source of text in the conversation that strangers may have written; calls that would run without a question then
    /// need approval.
    pub tainted: Option<&'a Taint>,
}

/// What is known of a call of a tool that a server of tools has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServerRule {
    /// The rule of the server's entry, which counts where `approvals.tools` says nothing about the tool.
    pub rule: Option<Rule>,
    /// Whether the server describes the tool in other words than those that a person has trusted.
    pub is_changed: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Allow,
    /// It is rehearsed, and the person is asked for this reason if it would change something.
    Rehearse(Reason),
    /// With the reason, for the person.
    Ask(Reason),
    /// With the reason, for the model.
    Deny(String),
}

/// What becomes of changes of files that other programs run later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunsLaterRule {
    /// A person is asked about them.
    Ask,
    /// They are refused: nobody is there to be asked.
    Refuse,
}

/// Why a person is asked: a sentence, and the same as a code for pages in other languages. A question from an earlier
/// version has only the sentence.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reason {
    pub sentence: String,
    pub because: Option<ApprovalReason>,
}

impl Reason {
    /// Returns this reason for a call that changes files that other programs run later.
    #[must_use]
    pub fn about_runs_later<'p>(self, files: impl ExactSizeIterator<Item = &'p str>) -> Self {
        let sentence = format!("{RUNS_LATER} {}. {}", named(files), self.sentence);
        let because = ApprovalReason { code: "runs_later".to_owned(), ..self.because.unwrap_or_default() };
        Self { sentence: sentence.trim_end().to_owned(), because: Some(because) }
    }

    /// Returns why a person is asked for what a server wants to know.
    pub fn elicitation(server: &str) -> Self {
        let because = ApprovalReason { code: "elicitation".to_owned(), ..ApprovalReason::default() };
        Self { sentence: format!("The MCP server {server} asks you for input."), because: Some(because) }
    }

    /// Returns why a person is asked about a call whose effect cannot be shown; `rule` says what requires the approval.
    pub fn unrehearsed(rule: &str, unrehearsable: &Unrehearsable, text_from: Option<ApprovalReason>) -> Self {
        let Unrehearsable { code, why } = unrehearsable;
        let because = ApprovalReason {
            code: "unrehearsed".to_owned(),
            obstacle: Some((*code).to_owned()),
            ..text_from.unwrap_or_default()
        };
        Self { sentence: format!("{rule} {why}"), because: Some(because) }
    }
}

impl<'a> Case<'a> {
    /// Returns the case of a call in a conversation without text from outside.
    pub fn of(tool: &'a str, checked: &'a Checked, shown: &'a Shown) -> Self {
        let Checked { arguments, call } = checked;
        let (effect, changes, level) = (call.effect(), call.changes(), call.level());
        let (unrehearsable, server) = (call.unrehearsable(), call.server_rule());
        Self { tool, effect, arguments, shown, changes, level, unrehearsable, server, tainted: None }
    }

    /// Returns whether it changes a file of the persona, the memory or the skills, or one that tells the agent how to work in a
    /// project.
    fn changes_persona(&self) -> bool {
        self.changes.iter().any(|place| place.root().is_persona() || place.is_pinned())
    }

    /// Returns the files that it changes and that other programs run later, without the root.
    fn runs_later(&self) -> Vec<&str> {
        self.changes.iter().filter(|place| place.runs_later()).map(Place::path).collect()
    }

    fn is_sandboxed(&self) -> bool {
        matches!(self.level, Some(Level::Strict | Level::Standard)) && !self.shown.network
    }
}

impl Policy {
    /// Returns the rule for a tool itself. What is said of `terminal` counts for `bash`, which does the same in a project, and
    /// what is said of `mcp__server__*` for all tools of that server.
    fn rule_of(&self, tool: &str) -> Option<Rule> {
        let same = if tool == "bash" { "terminal" } else { tool };
        let of_server = || self.tools.get(&format!("{}*", mcp::server_prefix(tool)?));
        self.tools.get(tool).or_else(|| self.tools.get(same)).or_else(of_server).copied()
    }

    /// Returns whether a mode lets calls run without approval that need it by the rules.
    pub fn is_widened_by(&self, mode: Option<PermissionMode>) -> bool {
        let needs_approval =
            |tool: &&str| matches!(self.rule_of(tool).unwrap_or(self.effects.execute), Rule::Ask | Rule::Rehearse);
        mode == Some(PermissionMode::Sandboxed) && COMMANDS.iter().any(needs_approval)
    }

    /// Returns what a rule becomes by the conversation's mode.
    fn in_mode(&self, rule: Rule, effect: Effect) -> Rule {
        match (self.mode, effect) {
            _ if rule == Rule::Deny => Rule::Deny,
            (Some(PermissionMode::Ask), Effect::Write | Effect::Execute | Effect::Network) => Rule::Ask,
            (Some(PermissionMode::Sandboxed), Effect::Execute) => Rule::Sandboxed,
            _ => rule,
        }
    }

    /// Returns the rule for calls of a tool with this effect.
    fn rule(&self, tool: &str, effect: Effect) -> Rule {
        self.in_mode(self.rule_of(tool).unwrap_or_else(|| self.effects.of(effect)), effect)
    }

    /// Returns what becomes of changes of files that other programs run later, even if the call itself is allowed.
    pub fn of_runs_later(&self, tool: &str, effect: Effect) -> RunsLaterRule {
        if self.rule(tool, effect) == Rule::Unattended { RunsLaterRule::Refuse } else { RunsLaterRule::Ask }
    }

    pub fn decide(&self, case: &Case<'_>, remembered: &[AlwaysAllowedCall]) -> Verdict {
        // What is denied for an effect, the entry of a server does not allow again.
        let of_server = case.server.rule.filter(|_| self.effects.of(case.effect) != Rule::Deny);
        let own = self.rule_of(case.tool).or(of_server).map(|rule| self.in_mode(rule, case.effect));
        let rule = own.unwrap_or_else(|| self.rule(case.tool, case.effect));
        let refused = |what: &str| Verdict::Deny(format!("the configuration (approvals) denies {what}"));
        let asks = |code: &str, why: &str, taint: Option<&Taint>| {
            let because = ApprovalReason { code: code.to_owned(), ..taint.map(because).unwrap_or_default() };
            Verdict::Ask(Reason { sentence: why.to_owned(), because: Some(because) })
        };
        let requires = |place: &str| format!("{}{place} requires approval.", what(case));
        let tainted = case.tainted.map(words);
        if rule == Rule::Deny {
            return refused(case.tool);
        }
        if let Some(mode @ (PermissionMode::ReadOnly | PermissionMode::Plan)) = self.mode
            && matches!(case.effect, Effect::Write | Effect::Execute)
        {
            let (name, tool) = (mode.name(), case.tool);
            return Verdict::Deny(format!("the user has set this conversation to {name}, which excludes {tool}"));
        }
        if case.server.is_changed {
            return asks("definition", DEFINITION_CHANGED, None);
        }
        // Before anything that allows the call: a rule that allows changes of instructions says nothing about programs.
        let run_later = case.runs_later();
        if !run_later.is_empty() {
            if rule == Rule::Unattended {
                return Verdict::Deny(refused_runs_later(run_later.into_iter()));
            }
            let strong = case.tainted.filter(|taint| taint.is_strong());
            let reason = Reason { sentence: strong.map(words).unwrap_or_default(), because: strong.map(because) };
            return Verdict::Ask(reason.about_runs_later(case.runs_later().into_iter()));
        }
        if case.changes_persona() {
            return match (own, tainted) {
                (Some(Rule::Unattended), _) | (Some(Rule::Allow), None) => Verdict::Allow,
                (_, None) => asks("persona", PERSONA_CHANGES, None),
                (_, Some(why)) => asks("persona", &format!("{PERSONA_CHANGES} {why}"), case.tainted),
            };
        }
        let tainted = tainted.filter(|_| case.tainted.is_some_and(Taint::is_strong));
        // Whatever the rules and a person's earlier answers say: a person gives a secret to one command that they see.
        if !case.shown.secrets.is_empty() {
            if case.shown.network && self.in_mode(self.effects.network, Effect::Network) == Rule::Deny {
                return refused("network to commands");
            }
            let sentence = format!("This command would get secrets of the project: {}.", case.shown.secrets.join(", "));
            return match tainted {
                None => asks("secrets", &sentence, None),
                Some(why) => asks("secrets", &format!("{sentence} {why}"), case.tainted),
            };
        }
        // A process with network needs both rules: the rule for running it does not grant the network.
        if case.shown.network && case.effect != Effect::Network {
            match (self.in_mode(self.effects.network, Effect::Network), &tainted) {
                (Rule::Deny, _) => return refused("network to commands"),
                (Rule::Unattended, _) | (Rule::Allow, None) => {}
                (Rule::Allow, Some(why)) => return asks("outside", why, case.tainted),
                (Rule::Ask | Rule::Rehearse | Rule::Sandboxed, None) if is_remembered(case, remembered) => {}
                (Rule::Ask | Rule::Rehearse | Rule::Sandboxed, _) => return asks("network", &requires(""), None),
            }
        }
        // A program can act on text that it reads in documents, before any later call needs approval.
        if !case.shown.reads.is_empty()
            && rule != Rule::Unattended
            && tainted.is_none()
            && !is_remembered(case, remembered)
        {
            return asks("reads", &format!("{} Documents may contain untrusted content.", requires("")), None);
        }
        let was_allowed = is_remembered(case, remembered);
        if rule == Rule::Rehearse && (tainted.is_some() || !was_allowed) {
            return match &case.unrehearsable {
                None => Verdict::Rehearse(rehearsed(tainted, case.tainted)),
                Some(unrehearsable) => match tainted {
                    Some(tainted) => asks("outside", &tainted, case.tainted),
                    None => Verdict::Ask(Reason::unrehearsed(&requires(""), unrehearsable, None)),
                },
            };
        }
        let unseen = match rule {
            Rule::Unattended => return Verdict::Allow,
            Rule::Allow => true,
            Rule::Sandboxed => case.is_sandboxed() || was_allowed,
            Rule::Ask | Rule::Rehearse | Rule::Deny => was_allowed,
        };
        // Reading the home's own files, and changing those that the agent does not act on, stays allowed in a tainted
        // conversation.
        let harmless = rule == Rule::Allow && matches!(case.effect, Effect::Read | Effect::Write);
        match (unseen, tainted) {
            (true, None) => Verdict::Allow,
            (true, Some(_)) if harmless => Verdict::Allow,
            (true, Some(why)) => asks("outside", &why, case.tainted),
            (false, _) if rule == Rule::Sandboxed => asks("unfenced", &requires(" outside the sandbox"), None),
            (false, _) => asks("configured", &requires(""), None),
        }
    }
}

/// Returns the reason of a question about what a call would change.
fn rehearsed(tainted: Option<String>, taint: Option<&Taint>) -> Reason {
    let sentence = match &tainted {
        None => CHANGES_FILES.to_owned(),
        Some(why) => format!("{CHANGES_FILES} {why}"),
    };
    let because = taint.filter(|_| tainted.is_some()).map(because).unwrap_or_default();
    Reason { sentence, because: Some(ApprovalReason { code: "rehearsed".to_owned(), ..because }) }
}

/// Returns why a call is refused that changes files that other programs run later, on a server that nobody watches.
pub fn refused_runs_later<'p>(files: impl ExactSizeIterator<Item = &'p str>) -> String {
    format!("{NOBODY_THERE} {}", named(files))
}

/// Returns the first names of files, and how many more there are.
fn named<'p>(files: impl ExactSizeIterator<Item = &'p str>) -> String {
    let count = files.len();
    let names: Vec<String> = files.take(NAMED).map(visible).collect();
    let more = if count > NAMED { format!(" and {} more", count - NAMED) } else { String::new() };
    format!("{}{more}", names.join(", "))
}

const DEFINITION_CHANGED: &str =
    "The server describes this tool in other words than those that were trusted; look at it in the list of tools.";
const CHANGES_FILES: &str = "It was run with its changes kept apart; applying them requires approval.";
/// Begins the reason of a question about files that run programs.
const RUNS_LATER: &str =
    "Other programs run these files later, outside of the sandbox, so changing them requires approval:";
/// Begins the reason of a refusal of such a change.
const NOBODY_THERE: &str =
    "other programs run these files later, outside of the sandbox, and nobody is there to approve changes of them:";
/// Maximum number of files that a reason names.
const NAMED: usize = 5;
/// The tools that run commands.
const COMMANDS: [&str; 3] = ["terminal", "bash", "python_repl"];
const PERSONA_CHANGES: &str = "Changes to persona, memory and skills require approval.";

/// Returns the reason without its code.
fn because(taint: &Taint) -> ApprovalReason {
    let from = match taint {
        Taint::Page(_) => "page",
        Taint::Document(_) => "document",
        Taint::Attachment(_) => "attachment",
        Taint::Command => "command",
        Taint::Skill(_) => "skill",
        Taint::Output => "output",
        Taint::Imported => "imported",
        Taint::Outside => "outside",
    };
    ApprovalReason { text_from: Some(from.to_owned()), file: taint.name().map(visible), ..ApprovalReason::default() }
}

fn words(taint: &Taint) -> String {
    let name = taint.name().map(visible).unwrap_or_default();
    let from = match taint {
        Taint::Page(_) => format!(" (web page {name})"),
        Taint::Document(_) => format!(" (document {name})"),
        Taint::Attachment(_) => format!(" (attachment {name})"),
        Taint::Command => " (output of a command with network or document access)".to_owned(),
        Taint::Skill(_) => format!(" (skill file {name})"),
        Taint::Output => " (command output)".to_owned(),
        Taint::Imported => " (imported conversation file)".to_owned(),
        Taint::Outside => String::new(),
    };
    format!("Untrusted content{from} may be trying to trigger this.")
}

impl Effects {
    fn of(&self, effect: Effect) -> Rule {
        match effect {
            Effect::Read => self.read,
            Effect::Write => self.write,
            Effect::Execute => self.execute,
            Effect::Network => self.network,
        }
    }
}

fn is_remembered(case: &Case<'_>, remembered: &[AlwaysAllowedCall]) -> bool {
    !case.changes_persona() && remembered.iter().any(|rule| rule.fits(case.tool, case.arguments, case.shown))
}

fn what(case: &Case<'_>) -> &'static str {
    match case.effect {
        Effect::Read => "Reading files",
        Effect::Write => "Changing files",
        Effect::Execute if case.shown.network && !case.shown.reads.is_empty() => {
            "Running commands that read your documents, with network access,"
        }
        Effect::Execute if case.shown.network => "Running commands with network access",
        Effect::Execute if !case.shown.reads.is_empty() => "Running commands that read your documents",
        Effect::Execute => "Running commands",
        Effect::Network => "Network access",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// What a prepared call says of itself.
    #[derive(Clone, Debug)]
    struct Call {
        shown: Shown,
        changes: Vec<Place>,
        level: Option<Level>,
    }

    impl Call {
        fn case<'a>(&'a self, tool: &'a str, effect: Effect, arguments: &'a Value) -> Case<'a> {
            let Self { shown, changes, level } = self;
            let can_be = matches!(level, Some(Level::Standard)) && !shown.network;
            let unrehearsable = (!can_be).then(|| Unrehearsable::new("system", "nothing is captured"));
            let server = ServerRule::default();
            Case { tool, effect, arguments, shown, changes, level: *level, unrehearsable, server, tainted: None }
        }
    }

    /// The policy that asks before each command.
    fn asking() -> Policy {
        let effects = Effects { execute: Rule::Ask, ..Policy::default().effects };
        Policy { effects, ..Policy::default() }
    }

    fn process(level: Level, network: bool) -> Call {
        let shown = Shown { level: level.name().to_owned(), network, ..Shown::default() };
        Call { shown, changes: Vec::new(), level: Some(level) }
    }

    fn change(path: &str) -> Call {
        let shown = Shown { path: Some(path.to_owned()), ..Shown::default() };
        Call { shown, changes: vec![Place::parse(path).unwrap()], level: None }
    }

    fn word(policy: &Policy, case: &Case<'_>, remembered: &[AlwaysAllowedCall]) -> &'static str {
        match policy.decide(case, remembered) {
            Verdict::Allow => "allow",
            Verdict::Rehearse(_) => "rehearse",
            Verdict::Ask(_) => "ask",
            Verdict::Deny(_) => "deny",
        }
    }

    #[test]
    fn person_gives_each_secret_and_a_forbidden_network_stays_so() {
        let policy = |network| {
            let (read, write, execute) = (Rule::Allow, Rule::Allow, Rule::Allow);
            Policy { effects: Effects { read, write, execute, network }, ..Policy::default() }
        };
        let arguments = json!({});
        for (rule, network, verdict) in [
            (Rule::Allow, false, "ask"),
            (Rule::Allow, true, "ask"),
            (Rule::Deny, false, "ask"),
            (Rule::Deny, true, "deny"),
        ] {
            let mut call = process(Level::Standard, network);
            call.shown.secrets = vec!["TOKEN".to_owned()];
            let found = word(&policy(rule), &call.case("bash", Effect::Execute, &arguments), &[]);
            assert_eq!(found, verdict, "{rule:?} {network}");
        }
    }

    #[test]
    fn entry_of_a_server_does_not_allow_what_an_effect_denies() {
        let arguments = json!({});
        let call = process(Level::Standard, false);
        let found = |execute, tools: &[(&str, Rule)], rule| {
            let tools = tools.iter().map(|(tool, rule)| ((*tool).to_owned(), *rule)).collect();
            let policy =
                Policy { effects: Effects { execute, ..Policy::default().effects }, tools, ..Policy::default() };
            let server = ServerRule { rule: Some(rule), is_changed: false };
            word(&policy, &Case { server, ..call.case("mcp__x__y", Effect::Execute, &arguments) }, &[])
        };
        assert_eq!(found(Rule::Ask, &[], Rule::Unattended), "allow");
        assert_eq!(found(Rule::Deny, &[], Rule::Unattended), "deny");
        assert_eq!(found(Rule::Deny, &[("mcp__x__y", Rule::Allow)], Rule::Unattended), "allow");
    }

    #[test]
    fn rules_effects_and_places_yield_verdicts() {
        use Effect::{Execute, Network, Read, Write};
        let standard = Policy::default();
        let with = |tools: &[(&str, Rule)]| {
            let tools = tools.iter().map(|(tool, rule)| ((*tool).to_owned(), *rule)).collect();
            Policy { tools, ..Policy::default() }
        };
        let open = |rule| Policy {
            effects: Effects { read: rule, write: rule, execute: rule, network: rule },
            ..Policy::default()
        };
        let sandboxed = with(&[("terminal", Rule::Sandboxed)]);
        let (sandboxed_call, networked, unsandboxed) =
            (process(Level::Standard, false), process(Level::Standard, true), process(Level::Off, false));
        let (memory, notes) = (change("memory/MEMORY.md"), change("knowledge/notes.md"));
        let nothing = Call { shown: Shown::default(), changes: Vec::new(), level: None };
        for (policy, tool, effect, call, tainted, verdict) in [
            (&standard, "read_file", Read, &nothing, false, "allow"),
            (&standard, "read_file", Read, &nothing, true, "allow"),
            (&standard, "create_file", Write, &notes, false, "ask"),
            (&standard, "create_file", Write, &memory, false, "ask"),
            (&standard, "terminal", Execute, &sandboxed_call, false, "rehearse"),
            (&standard, "terminal", Execute, &sandboxed_call, true, "rehearse"),
            (&standard, "terminal", Execute, &networked, false, "ask"),
            (&standard, "terminal", Execute, &unsandboxed, false, "ask"),
            (&standard, "terminal", Execute, &unsandboxed, true, "ask"),
            (&standard, "fetch_url", Network, &nothing, false, "ask"),
            (&standard, "somebody_else_s", Execute, &nothing, false, "ask"),
            // `sandboxed` allows a call only if there is a sandbox, and without network and text from outside.
            (&sandboxed, "terminal", Execute, &sandboxed_call, false, "allow"),
            (&sandboxed, "bash", Execute, &sandboxed_call, false, "allow"),
            (&with(&[("terminal", Rule::Deny)]), "bash", Execute, &sandboxed_call, false, "deny"),
            (&sandboxed, "terminal", Execute, &sandboxed_call, true, "ask"),
            (&sandboxed, "terminal", Execute, &networked, false, "ask"),
            (&sandboxed, "terminal", Execute, &unsandboxed, false, "ask"),
            (&sandboxed, "python_repl", Execute, &sandboxed_call, false, "rehearse"),
            // `allow` allows calls; changes of persona, memory and skills only if it is the tool's own rule.
            (&open(Rule::Allow), "terminal", Execute, &sandboxed_call, false, "allow"),
            (&open(Rule::Allow), "terminal", Execute, &networked, false, "allow"),
            (&open(Rule::Allow), "fetch_url", Network, &nothing, false, "allow"),
            (&open(Rule::Allow), "edit_file", Write, &notes, false, "allow"),
            (&open(Rule::Allow), "edit_file", Write, &memory, false, "ask"),
            (&with(&[("edit_file", Rule::Allow)]), "edit_file", Write, &memory, false, "allow"),
            // After text from outside, calls still need approval if they use the network, run a program or change the
            // agent's own files.
            (&open(Rule::Allow), "terminal", Execute, &sandboxed_call, true, "ask"),
            (&open(Rule::Allow), "terminal", Execute, &networked, true, "ask"),
            (&open(Rule::Allow), "fetch_url", Network, &nothing, true, "ask"),
            (&open(Rule::Allow), "somebody_else_s", Execute, &nothing, true, "ask"),
            (&open(Rule::Allow), "read_file", Read, &nothing, true, "allow"),
            (&open(Rule::Allow), "edit_file", Write, &notes, true, "allow"),
            (&with(&[("terminal", Rule::Allow)]), "terminal", Execute, &sandboxed_call, true, "ask"),
            (&with(&[("fetch_url", Rule::Allow)]), "fetch_url", Network, &nothing, true, "ask"),
            (&with(&[("edit_file", Rule::Allow)]), "edit_file", Write, &memory, true, "ask"),
            // Except if the rule is `unattended`.
            (&open(Rule::Unattended), "terminal", Execute, &sandboxed_call, true, "allow"),
            (&open(Rule::Unattended), "terminal", Execute, &networked, true, "allow"),
            (&open(Rule::Unattended), "fetch_url", Network, &nothing, true, "allow"),
            (&open(Rule::Unattended), "edit_file", Write, &memory, false, "ask"),
            (&with(&[("edit_file", Rule::Unattended)]), "edit_file", Write, &memory, true, "allow"),
            (&with(&[("terminal", Rule::Unattended)]), "terminal", Execute, &networked, false, "ask"),
            (&with(&[("terminal", Rule::Allow)]), "terminal", Execute, &sandboxed_call, false, "allow"),
            (&with(&[("terminal", Rule::Allow)]), "terminal", Execute, &networked, false, "ask"),
            (&with(&[("terminal", Rule::Ask)]), "terminal", Execute, &sandboxed_call, false, "ask"),
            // `deny` always denies.
            (&open(Rule::Deny), "read_file", Read, &nothing, false, "deny"),
            (&open(Rule::Deny), "edit_file", Write, &memory, false, "deny"),
            (&with(&[("fetch_url", Rule::Deny)]), "fetch_url", Network, &nothing, false, "deny"),
            (&with(&[("fetch_url", Rule::Deny)]), "read_file", Read, &nothing, false, "allow"),
        ] {
            let arguments = json!({});
            let tainted = tainted.then_some(&Taint::Outside);
            let case = Case { tainted, ..call.case(tool, effect, &arguments) };
            assert_eq!(word(policy, &case, &[]), verdict, "{policy:?} {case:?}");
        }
    }

    #[test]
    fn one_persona_file_among_the_changes_is_enough() {
        let both = Call {
            changes: ["knowledge/a.md", "memory/MEMORY.md"].map(|p| Place::parse(p).unwrap()).into(),
            ..change("knowledge/a.md")
        };
        let (policy, arguments) = (
            Policy { effects: Effects { write: Rule::Allow, ..Policy::default().effects }, ..Policy::default() },
            json!({}),
        );
        let verdict = |call: &Call| word(&policy, &call.case("edit_file", Effect::Write, &arguments), &[]);
        assert_eq!((verdict(&change("knowledge/a.md")), verdict(&both)), ("allow", "ask"));
    }

    #[test]
    fn document_reading_command_asks_when_attended() {
        let mut reading = process(Level::Standard, false);
        reading.shown.reads = vec!["knowledge".to_owned()];
        let arguments = json!({"command": "ls", "reads": ["knowledge"]});
        let verdict = |rule, tainted, remembered: &[AlwaysAllowedCall]| {
            let policy = Policy { tools: [("terminal".to_owned(), rule)].into(), ..Policy::default() };
            let case = Case { tainted, ..reading.case("terminal", Effect::Execute, &arguments) };
            word(&policy, &case, remembered)
        };
        let always =
            AlwaysAllowedCall { reads: reading.shown.reads.clone(), cwd: String::new(), ..remember(arguments.clone()) };
        let always = std::slice::from_ref(&always);
        for rule in [Rule::Allow, Rule::Sandboxed, Rule::Ask] {
            assert_eq!(verdict(rule, None, &[]), "ask", "{rule:?}");
            assert_eq!(verdict(rule, None, always), "allow", "{rule:?}: exactly this was allowed for good");
            assert_eq!(verdict(rule, Some(&Taint::Command), always), "ask", "{rule:?}");
        }
        assert_eq!(verdict(Rule::Unattended, Some(&Taint::Command), &[]), "allow");
        assert_eq!(verdict(Rule::Deny, None, always), "deny");
    }

    #[test]
    fn command_output_taints_only_persona_changes() {
        let (arguments, sandboxed_call) = (json!({}), process(Level::Standard, false));
        let memory = change("memory/MEMORY.md");
        let tools = ["edit_file", "terminal"].map(|tool| (tool.to_owned(), Rule::Allow)).into();
        let policy = Policy { tools, ..Policy::default() };
        let verdict = |tool, effect, call: &Call, tainted| {
            word(&policy, &Case { tainted, ..call.case(tool, effect, &arguments) }, &[])
        };
        assert_eq!(verdict("terminal", Effect::Execute, &sandboxed_call, Some(&Taint::Output)), "allow");
        assert_eq!(verdict("edit_file", Effect::Write, &memory, Some(&Taint::Output)), "ask");
        assert_eq!(verdict("edit_file", Effect::Write, &memory, None), "allow");
    }

    #[test]
    fn mode_narrows_the_rules_and_denial_stays() {
        use Effect::{Execute, Network, Read, Write};
        let open = Effects { read: Rule::Allow, write: Rule::Allow, execute: Rule::Allow, network: Rule::Unattended };
        let open = Policy { effects: open, ..Policy::default() };
        let closed = Effects { execute: Rule::Deny, network: Rule::Deny, ..open.effects };
        let closed = Policy { effects: closed, ..Policy::default() };
        let own = ["edit_file", "terminal"].map(|tool| (tool.to_owned(), Rule::Unattended)).into();
        let own = Policy { tools: own, ..Policy::default() };
        let (notes, memory, nothing) =
            (change("knowledge/a.md"), change("memory/MEMORY.md"), process(Level::Off, false));
        let (fenced, networked) = (process(Level::Standard, false), process(Level::Standard, true));
        use PermissionMode::{Ask, Plan, ReadOnly, Sandboxed};
        for (policy, mode, tool, effect, call, verdict) in [
            (&open, ReadOnly, "read_file", Read, &nothing, "allow"),
            (&open, ReadOnly, "edit_file", Write, &notes, "deny"),
            (&open, ReadOnly, "terminal", Execute, &fenced, "deny"),
            (&own, ReadOnly, "edit_file", Write, &memory, "deny"),
            (&open, Plan, "terminal", Execute, &fenced, "deny"),
            (&open, Plan, "read_file", Read, &nothing, "allow"),
            (&open, Plan, "fetch_url", Network, &networked, "allow"),
            (&open, Ask, "read_file", Read, &nothing, "allow"),
            (&open, Ask, "edit_file", Write, &notes, "ask"),
            (&open, Ask, "terminal", Execute, &fenced, "ask"),
            (&open, Ask, "terminal", Execute, &networked, "ask"),
            (&open, Ask, "fetch_url", Network, &networked, "ask"),
            (&own, Ask, "edit_file", Write, &memory, "ask"),
            (&own, Ask, "terminal", Execute, &fenced, "ask"),
            (&own, Sandboxed, "terminal", Execute, &fenced, "allow"),
            (&own, Sandboxed, "terminal", Execute, &nothing, "ask"),
            (&open, Sandboxed, "terminal", Execute, &nothing, "ask"),
            (&Policy::default(), Sandboxed, "terminal", Execute, &fenced, "allow"),
            (&Policy::default(), Sandboxed, "terminal", Execute, &networked, "ask"),
            (&Policy::default(), Sandboxed, "edit_file", Write, &notes, "ask"),
            (&closed, Sandboxed, "terminal", Execute, &fenced, "deny"),
            (&closed, Ask, "terminal", Execute, &fenced, "deny"),
            (&closed, Ask, "fetch_url", Network, &networked, "deny"),
        ] {
            let policy = Policy { mode: Some(mode), ..policy.clone() };
            assert_eq!(word(&policy, &call.case(tool, effect, &json!({})), &[]), verdict, "{mode:?} {tool} {call:?}");
        }
        let tainted = Policy { mode: Some(Sandboxed), ..Policy::default() };
        let arguments = json!({});
        let case = Case { tainted: Some(&Taint::Outside), ..fenced.case("terminal", Execute, &arguments) };
        assert_eq!(word(&tainted, &case, &[]), "ask");
    }

    #[test]
    fn only_sandboxed_widens_rules_that_ask() {
        let with = |tools: &[(&str, Rule)]| {
            let tools = tools.iter().map(|(tool, rule)| ((*tool).to_owned(), *rule)).collect();
            Policy { tools, ..Policy::default() }
        };
        let sandboxed = Some(PermissionMode::Sandboxed);
        assert!(Policy::default().is_widened_by(sandboxed));
        for mode in [None, Some(PermissionMode::Ask), Some(PermissionMode::Plan), Some(PermissionMode::ReadOnly)] {
            assert!(!Policy::default().is_widened_by(mode));
        }
        assert!(with(&[("terminal", Rule::Allow)]).is_widened_by(sandboxed), "the other still asks");
        assert!(!with(&[("terminal", Rule::Allow), ("python_repl", Rule::Deny)]).is_widened_by(sandboxed));
        let others = [("terminal", Rule::Allow), ("python_repl", Rule::Deny), ("bash", Rule::Ask)];
        assert!(with(&others).is_widened_by(sandboxed), "a rule of its own counts");
    }

    #[test]
    fn allowed_host_is_exactly_one_host_for_one_tool() {
        let rule = AlwaysAllowedCall {
            tool: "fetch_url".to_owned(),
            host: Some("example.com".to_owned()),
            ..remember(json!({"url": "https://example.com/a"}))
        };
        let verdict = |tool: &str, host: Option<&str>, tainted: bool| {
            let shown = Shown { network: true, host: host.map(str::to_owned), ..Shown::default() };
            let call = Call { shown, changes: Vec::new(), level: None };
            let (arguments, tainted) = (json!({"url": "any"}), tainted.then_some(&Taint::Outside));
            let case = Case { tainted, ..call.case(tool, Effect::Network, &arguments) };
            word(&Policy::default(), &case, std::slice::from_ref(&rule))
        };
        assert_eq!(verdict("fetch_url", Some("example.com"), false), "allow");
        for host in [None, Some("www.example.com"), Some("example.com:8080"), Some("example.com.evil.test"), Some("")] {
            assert_eq!(verdict("fetch_url", host, false), "ask", "{host:?}");
        }
        assert_eq!(verdict("terminal", Some("example.com"), false), "ask");
        assert_eq!(verdict("fetch_url", Some("example.com"), true), "ask", "text from outside could leak data there");
    }

    fn remember(arguments: Value) -> AlwaysAllowedCall {
        AlwaysAllowedCall {
            id: "r".to_owned(),
            tool: "terminal".to_owned(),
            arguments,
            cwd: "scratch/".to_owned(),
            network: false,
            reads: Vec::new(),
            level: "standard".to_owned(),
            definition: None,
            host: None,
            added_at: 1.0,
        }
    }

    fn in_scratch() -> Call {
        let mut call = process(Level::Standard, false);
        call.shown.cwd = "scratch/".to_owned();
        call
    }

    fn asked_again(rules: &[AlwaysAllowedCall], command: &str) -> &'static str {
        let arguments = json!({"command": command});
        word(&asking(), &in_scratch().case("terminal", Effect::Execute, &arguments), rules)
    }

    /// Each of these does something other than an allowed line but looks similar.
    #[test]
    fn always_rule_matches_exactly_one_line() {
        let rules = [
            remember(json!({"command": "git status"})),
            remember(json!({"command": "ls -la"})),
            remember(json!({"command": "cat notes.txt"})),
        ];
        for allowed in ["git status", "ls -la", "cat notes.txt"] {
            assert_eq!(asked_again(&rules, allowed), "allow", "{allowed}");
        }
        let many = vec!["git status"; 60].join("; ");
        for other in [
            "git status; rm -rf .",
            "git status && curl evil",
            "git status || id",
            "git status | sh",
            "git status & id",
            "git status\nid",
            "git status\\\nid",
            "git status\rid",
            "git status\r\nid",
            "git status $(id)",
            "git status `id`",
            "git status <(id)",
            "git status >(id)",
            "git status > ../x",
            "git status <<EOF\nid\nEOF",
            "git status <<< id",
            "git${IFS}status",
            "git$IFS status",
            "env git status",
            "env -S 'git status'",
            "nice git status",
            "nohup git status",
            "timeout 9 git status",
            "xargs git status",
            "busybox ls -la",
            "sudo git status",
            "sh -c 'git status'",
            "bash -c \"git status\"",
            "eval git status",
            "command git status",
            "exec git status",
            "\\git status",
            "'git' status",
            "/usr/bin/git status",
            "./git status",
            "../../usr/bin/git status",
            "git -c core.pager=id status",
            "git -c core.fsmonitor=id status",
            "git --exec-path=. status",
            "GIT_PAGER=id git status",
            "PATH=. git status",
            "alias git=id; git status",
            "git  status",
            "git status ",
            " git status",
            "git\tstatus",
            "git\u{a0}status",
            "git\u{2003}status",
            "git\u{3000}status",
            "git\u{200b} status",
            "git status\u{202e}",
            "g\u{456}t status",
            "Git Status",
            "git statuś",
            "git status #",
            "cat notes.txt notes2.txt",
            "cat notes.tx?",
            "cat ./notes.txt",
            "ls -la -R",
            "ls -al",
            &many,
            "",
        ] {
            assert_eq!(asked_again(&rules, other), "ask", "{other:?}");
        }
    }

    #[test]
    fn always_rule_binds_place_and_arguments() {
        let arguments = json!({"command": "ls"});
        let rules = [remember(arguments.clone())];
        let here = in_scratch();
        let verdict = |tool: &str, arguments: &Value, call: &Call, tainted: bool| {
            let tainted = tainted.then_some(&Taint::Outside);
            let case = Case { tainted, ..call.case(tool, Effect::Execute, arguments) };
            word(&asking(), &case, &rules)
        };
        let with = |shown: Shown| Call { shown, ..here.clone() };
        assert_eq!(verdict("terminal", &arguments, &here, false), "allow");
        assert_eq!(verdict("terminal", &arguments, &here, true), "ask");
        assert_eq!(verdict("python_repl", &arguments, &here, false), "ask");
        assert_eq!(
            verdict("terminal", &arguments, &with(Shown { cwd: "/".to_owned(), ..here.shown.clone() }), false),
            "ask"
        );
        assert_eq!(verdict("terminal", &arguments, &with(Shown { network: true, ..here.shown.clone() }), false), "ask");
        assert_eq!(
            verdict("terminal", &arguments, &with(Shown { level: "off".to_owned(), ..here.shown.clone() }), false),
            "ask"
        );
        assert_eq!(verdict("terminal", &json!({"command": "ls", "network": true}), &here, false), "ask");
        // A change of a memory file is shown each time, whatever calls are remembered.
        let memory = Call { changes: change("memory/MEMORY.md").changes, ..here.clone() };
        assert_eq!(verdict("terminal", &arguments, &memory, false), "ask");
    }
}
