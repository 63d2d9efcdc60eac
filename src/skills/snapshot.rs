//! SKILLS_SNAPSHOT.md: the list of skills for the model, in as few tokens as possible.

use std::fmt::Write;

use super::{DESCRIPTION_CHARACTERS, NAME_CHARACTERS, Skill};

/// Maximum length in characters of the reason why a skill cannot be used; a person sees the full reason in the list of
/// skills.
const REASON_CHARACTERS: usize = 160;

/// Returns the list of skills as XML, one line per skill, sorted by location. A broken skill becomes a comment, so that a
/// person who reads the file sees it and the model does not mistake it for a usable skill. Disabled skills are left out.
/// Empty if there are no others.
pub fn snapshot(skills: &[Skill]) -> String {
    list(skills, |skill| skill.location.to_string())
}

/// Returns the same list for the skills of a project. Their paths begin at its root: `/skills/x/SKILL.md`.
pub fn project_snapshot(skills: &[Skill]) -> String {
    list(skills, |skill| format!("/{}", skill.location.path()))
}

fn list(skills: &[Skill], location: impl Fn(&Skill) -> String) -> String {
    let mut skills: Vec<&Skill> = skills.iter().filter(|skill| !skill.disabled).collect();
    if skills.is_empty() {
        return String::new();
    }
    skills.sort_by(|a, b| a.location.cmp(&b.location));
    let mut xml = String::from("<available_skills>\n");
    for skill in skills {
        let location = location(skill);
        // Writing to a String cannot fail.
        let _ = match &skill.error {
            None => writeln!(
                xml,
                "<skill><name>{}</name><description>{}</description><location>{}</location></skill>",
                escaped(&shortened(&skill.name, NAME_CHARACTERS)),
                escaped(&shortened(&skill.description, DESCRIPTION_CHARACTERS)),
                escaped(&location),
            ),
            Some(error) => {
                let reason = shortened(error, REASON_CHARACTERS);
                writeln!(xml, "<!-- not usable: {} -->", comment(&format!("{location}: {reason}")))
            }
        };
    }
    xml.push_str("</available_skills>\n");
    xml
}

fn shortened(text: &str, characters: usize) -> String {
    match text.char_indices().nth(characters) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Escapes text inside an element. Omits characters that XML 1.0 does not allow, and replaces control characters with
/// spaces.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\u{fffe}' | '\u{ffff}' => {}
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

/// Escapes text inside a comment, which must not contain `--`. The caller puts a space before `-->`, because a comment must
/// not end in `-`.
fn comment(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in escaped(text).chars() {
        if c == '-' && out.ends_with('-') {
            out.push(' ');
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Place;
    use proptest::prelude::*;

    fn skill(folder: &str, text: &str) -> Skill {
        Skill::parse(&Place::parse(&format!("skills/{folder}/SKILL.md")).unwrap(), text.as_bytes())
    }

    #[test]
    fn snapshot_is_sorted_escaped_and_omits_broken_skills() {
        let skills = [
            skill("web", "---\nname: web\ndescription: a < b && ]]> -- </skill>\n---\n"),
            skill("天气", "---\nname: 天气查询\ndescription: 查询天气\n---\n"),
            skill("bad--", "no front matter --> <skill>"),
        ];
        let xml = snapshot(&skills);
        assert_eq!(
            xml,
            "<available_skills>\n\
             <!-- not usable: skills/bad- -/SKILL.md: No front matter. Start the file with a line - - -, then name: and description:, then a line - - -. -->\n\
             <skill><name>web</name><description>a &lt; b &amp;&amp; ]]&gt; -- &lt;/skill&gt;</description><location>skills/web/SKILL.md</location></skill>\n\
             <skill><name>天气查询</name><description>查询天气</description><location>skills/天气/SKILL.md</location></skill>\n\
             </available_skills>\n"
        );
        let mut reversed = skills.to_vec();
        reversed.reverse();
        assert_eq!(snapshot(&reversed), xml);
        assert_eq!(snapshot(&[]), "");
    }

    #[test]
    fn long_name_or_description_is_truncated() {
        let text = format!("---\nname: {}\ndescription: {}\n---\n", "名".repeat(300), "长".repeat(3000));
        let xml = snapshot(&[skill("a", &text)]);
        assert_eq!(xml.matches('长').count(), DESCRIPTION_CHARACTERS);
        assert_eq!(xml.matches('名').count(), NAME_CHARACTERS);
        assert!(xml.contains("…</description>") && xml.contains("…</name>"));
    }

    proptest! {
        #[test]
        fn no_text_breaks_markup(name in "\\PC{1,30}", description in any::<String>(), error in any::<String>()) {
            let mut good = skill("a", "---\nname: a\ndescription: b\n---\n");
            let mut bad = good.clone();
            good.name = name;
            good.description = description;
            bad.error = Some(error);
            let xml = snapshot(&[good, bad]);
            prop_assert_eq!(xml.matches("<skill>").count(), 1);
            prop_assert_eq!(xml.matches("</skill>").count(), 1);
            let start = xml.find("<!--").unwrap() + 4;
            let end = start + xml[start..].find("-->").unwrap();
            prop_assert!(!xml[start..end].contains("--") && !xml[start..end].ends_with('-'));
            prop_assert_eq!(xml[end + 3..].matches("-->").count(), 0);
        }
    }
}
