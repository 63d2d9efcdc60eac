//! Refuses some destructive commands before they run, even though the sandbox would stop them.
//!
//! This is a convenience, not a security boundary: it spares the model a confusing error after a slip, and a person without
//! a sandbox a disaster. It parses the line roughly as bash does, and is easy to circumvent. [`crate::sandbox`] enforces
//! what a command *may* do.

/// Returns why the command must not run, to follow "would …"; `None` for every command that is not on the list.
pub fn refused(line: &str) -> Option<&'static str> {
    if is_fork_bomb(line) {
        return Some("start processes without end");
    }
    commands(line).iter().find_map(|words| refused_command(words))
}

/// Words that may stand before the program that actually runs.
const WRAPPERS: [&str; 24] = [
    "sudo", "doas", "env", "nohup", "exec", "command", "builtin", "time", "nice", "ionice", "setsid", "stdbuf",
    "timeout", "xargs", "busybox", "toybox", "then", "do", "else", "if", "while", "until", "!", "chroot",
];

fn refused_command(words: &[String]) -> Option<&'static str> {
    let target =
        |marks: &[&str]| words.windows(2).any(|pair| marks.contains(&pair[0].as_str()) && is_block_device(&pair[1]));
    if target(&[">", ">>", ">|"]) {
        return Some("overwrite a disk");
    }
    let words = without_wrappers(words);
    let (program, arguments) = words.split_first()?;
    let program = program.rsplit('/').next().unwrap_or(program);
    let has = |flags: &[&str]| arguments.iter().any(|word| flags.contains(&word.as_str()));
    let short = |flag: char| {
        arguments.iter().any(|word| word.starts_with('-') && !word.starts_with("--") && word.contains(flag))
    };
    let on_system = || arguments.iter().any(|word| is_system_folder(word));
    match program {
        "rm" if has(&["--no-preserve-root"]) => Some("delete the whole system"),
        "rm" if (short('r') || short('R') || has(&["--recursive"])) && on_system() => {
            Some("delete system or home folders")
        }
        "chmod" | "chown" | "chgrp" if (short('R') || has(&["--recursive"])) && on_system() => {
            Some("change the rights of system folders")
        }
        "mv" if arguments.first().is_some_and(|word| is_system_folder(word)) => Some("move system folders away"),
        "find" if on_system() && (has(&["-delete"]) || has(&["rm", "/bin/rm", "/usr/bin/rm"])) => {
            Some("delete system or home folders")
        }
        "dd" if arguments.iter().any(|word| word.strip_prefix("of=").is_some_and(is_block_device)) => {
            Some("overwrite a disk")
        }
        "shred" | "tee" | "cp" | "truncate" if arguments.iter().any(|word| is_block_device(word)) => {
            Some("overwrite a disk")
        }
        "mke2fs" | "mkswap" | "wipefs" | "fdisk" | "sfdisk" | "cfdisk" | "gdisk" | "parted" | "blkdiscard" => {
            Some("format or repartition a disk")
        }
        program if program == "mkfs" || program.starts_with("mkfs.") => Some("format a disk"),
        "shutdown" | "reboot" | "halt" | "poweroff" => Some("switch the machine off"),
        "init" | "telinit" if has(&["0", "6"]) => Some("switch the machine off"),
        "systemctl" | "loginctl"
            if has(&["poweroff", "reboot", "halt", "kexec", "suspend", "hibernate", "rescue", "emergency"]) =>
        {
            Some("switch the machine off")
        }
        "kill" if has(&["-1"]) && arguments.last().is_some_and(|word| word == "-1") => Some("kill every process"),
        "bash" | "sh" | "dash" | "zsh" | "ksh" | "ash" => {
            let at = arguments
                .iter()
                .position(|word| word.starts_with('-') && !word.starts_with("--") && word.ends_with('c'))?;
            refused(arguments.get(at + 1)?)
        }
        "eval" => refused(&arguments.join(" ")),
        _ => None,
    }
}

fn without_wrappers(mut words: &[String]) -> &[String] {
    while let Some((first, rest)) = words.split_first() {
        let name = first.rsplit('/').next().unwrap_or(first);
        let assigns = first.split_once('=').is_some_and(|(name, _)| {
            !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        });
        if assigns {
            words = rest;
        } else if WRAPPERS.contains(&name) {
            // The wrapper's own options and numbers (nice -n 5, timeout 10s).
            let own = rest
                .iter()
                .take_while(|word| word.starts_with('-') || word.starts_with(|char: char| char.is_ascii_digit()))
                .count();
            words = &rest[own..];
        } else {
            break;
        }
    }
    words
}

fn is_block_device(path: &str) -> bool {
    const DISKS: [&str; 9] = ["sd", "hd", "vd", "xvd", "nvme", "mmcblk", "dm-", "loop", "mapper/"];
    path.strip_prefix("/dev/").is_some_and(|name| DISKS.iter().any(|disk| name.starts_with(disk)))
        || matches!(path, "/dev/mem" | "/dev/kmem" | "/dev/port")
}

/// Returns whether the path is the root, a folder directly below it that every system has, or the whole home.
fn is_system_folder(path: &str) -> bool {
    const TOP: [&str; 19] = [
        "bin", "boot", "dev", "etc", "home", "lib", "lib32", "lib64", "mnt", "opt", "proc", "root", "run", "sbin",
        "srv", "sys", "usr", "var", "*",
    ];
    if ["~", "$HOME", "${HOME}"].contains(&path.trim_end_matches(['/', '*', '.'])) {
        return true;
    }
    if !path.starts_with('/') {
        return false;
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    while parts.len() > 1 && parts.last() == Some(&"*") {
        parts.pop();
    }
    parts.is_empty() || (parts.len() == 1 && TOP.contains(&parts[0]))
}

/// Detects `name(){ name|name& };name` with any name and any spaces.
fn is_fork_bomb(line: &str) -> bool {
    let line: String = line.split_whitespace().collect();
    let line = line.strip_prefix("function").unwrap_or(&line);
    line.match_indices("(){").any(|(at, _)| {
        let name = line[..at].rsplit([';', '&', '|', '(', '{', '}']).next().unwrap_or_default();
        !name.is_empty() && line[at..].contains(&format!("{name}|{name}&"))
    })
}

/// Splits a line into simple commands, each a list of words; includes commands in substitutions `$(…)` and backticks.
fn commands(line: &str) -> Vec<Vec<String>> {
    let mut reader = Reader { all: Vec::new(), words: Vec::new(), word: String::new(), in_word: false };
    let chars: Vec<char> = line.chars().collect();
    let (mut at, mut quoted) = (0, false);
    while at < chars.len() {
        match chars[at] {
            '\\' if chars.get(at + 1) == Some(&'\n') => at += 1,
            '\\' => {
                at += 1;
                reader.push(chars.get(at).copied());
            }
            '"' => {
                quoted = !quoted;
                reader.in_word = true;
            }
            '$' if chars.get(at + 1) == Some(&'(') => {
                let end = closing(&chars, at + 2);
                reader.all.extend(commands(&chars[at + 2..end].iter().collect::<String>()));
                at = end;
            }
            '`' => {
                let end = chars[at + 1..].iter().position(|char| *char == '`').map_or(chars.len(), |n| at + 1 + n);
                reader.all.extend(commands(&chars[at + 1..end].iter().collect::<String>()));
                at = end;
            }
            char if quoted => reader.push(Some(char)),
            '\'' => {
                reader.in_word = true;
                at += 1;
                while at < chars.len() && chars[at] != '\'' {
                    reader.push(Some(chars[at]));
                    at += 1;
                }
            }
            '#' if !reader.in_word => {
                while at < chars.len() && chars[at] != '\n' {
                    at += 1;
                }
                reader.end_command();
            }
            ';' | '&' | '|' | '\n' | '(' | ')' => reader.end_command(),
            '{' | '}' if !reader.in_word => reader.end_command(),
            '>' => {
                reader.end_word();
                reader.push(Some('>'));
                while matches!(chars.get(at + 1), Some('>' | '|')) {
                    at += 1;
                    reader.push(Some(chars[at]));
                }
                reader.end_word();
            }
            char if char.is_whitespace() => reader.end_word(),
            char => reader.push(Some(char)),
        }
        at += 1;
    }
    reader.end_command();
    reader.all
}

/// Returns the index of the parenthesis that closes the one opened before `at`.
fn closing(chars: &[char], at: usize) -> usize {
    let mut depth = 1;
    for (index, char) in chars.iter().enumerate().skip(at) {
        match char {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return index;
        }
    }
    chars.len()
}

struct Reader {
    all: Vec<Vec<String>>,
    words: Vec<String>,
    word: String,
    in_word: bool,
}

impl Reader {
    fn push(&mut self, char: Option<char>) {
        self.word.extend(char);
        self.in_word = true;
    }

    fn end_word(&mut self) {
        if std::mem::take(&mut self.in_word) {
            self.words.push(std::mem::take(&mut self.word));
        }
    }

    fn end_command(&mut self) {
        self.end_word();
        if !self.words.is_empty() {
            self.all.push(std::mem::take(&mut self.words));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn destructive_command_is_refused() {
        for line in [
            "rm -rf /",
            "rm -rf /*",
            "rm -fr  / ",
            "rm -r -f /",
            "rm --recursive --force /",
            "rm -rf -- /",
            "rm -rf //",
            "rm -rf /./",
            "rm -rf /usr/../",
            "rm -rf --no-preserve-root /x",
            "rm -Rf /etc",
            "rm -rf /home/*",
            "rm -rf ~",
            "rm -rf ~/",
            "rm -rf $HOME",
            "rm -rf \"$HOME\"/*",
            "rm -rf \"/\"",
            "rm -rf '/'",
            "r\\m -rf /",
            "/bin/rm -rf /",
            "sudo rm -rf /",
            "sudo -n rm -rf /",
            "env X=1 rm -rf /",
            "X=1 rm -rf /",
            "nohup rm -rf / &",
            "cd /tmp && rm -rf /",
            "true; rm -rf /",
            "true | rm -rf /",
            "echo a\nrm -rf /",
            "(rm -rf /)",
            "{ rm -rf /; }",
            "echo $(rm -rf /)",
            "echo \"$(rm -rf /)\"",
            "echo `rm -rf /`",
            "bash -c 'rm -rf /'",
            "sh -ec 'cd /; rm -rf /*'",
            "eval rm -rf /",
            "eval 'rm -rf /'",
            "if true; then rm -rf /; fi",
            "timeout 10 rm -rf /",
            "nice -n 5 rm -rf /",
            "busybox rm -rf /",
            "find / -delete",
            "find / -name x -exec rm {} +",
            "chmod -R 777 /",
            "chown -R nobody /usr",
            "mv / /tmp",
            "mkfs /dev/sda1",
            "mkfs.ext4 /dev/sda",
            "wipefs -a /dev/sda",
            "dd if=/dev/zero of=/dev/sda",
            "dd of=/dev/nvme0n1 if=x",
            "echo x > /dev/sda",
            "cat x >/dev/vda",
            "cat x>>/dev/vda",
            "shred /dev/sda",
            "fdisk /dev/sda",
            "shutdown -h now",
            "reboot",
            "/sbin/halt",
            "poweroff",
            "init 0",
            "telinit 6",
            "systemctl poweroff",
            "sudo systemctl reboot -f",
            "kill -9 -1",
            ":(){ :|:& };:",
            "bomb() { bomb | bomb & }; bomb",
            ": ( ) { : | : & } ; :",
            "function f(){ f|f& };f",
        ] {
            assert!(refused(line).is_some(), "{line:?}");
        }
    }

    #[test]
    fn everyday_commands_are_allowed() {
        for line in [
            "ls -la /",
            "rm -rf build",
            "rm -rf ./build /tmp/x",
            "rm -r /usr/local/thing",
            "rm notes.txt",
            "rm -f /etc/x",
            "echo 'rm -rf /'",
            "echo \"rm -rf /\"",
            "grep -r 'rm -rf /' .",
            "git commit -m 'never; rm -rf / again'",
            "cat /dev/null > x",
            "echo x > /dev/null",
            "dd if=/dev/zero of=disk.img bs=1M count=1",
            "find . -delete",
            "find / -name passwd",
            "chmod -R u+w .",
            "echo reboot",
            "man shutdown",
            "python3 -c 'print(1)'",
            "kill -9 123",
            "kill -1 123",
            "f() { echo f; }; f",
            "# rm -rf /",
            "echo a # rm -rf /",
            "sort -r x | head",
            "cp a b",
            "",
            "bash script.sh",
            "bash -c 'ls /'",
            "systemctl status x",
            "mv /tmp/a b",
            "tar -C / -tf x.tar",
        ] {
            assert_eq!(refused(line), None, "{line:?}");
        }
    }

    #[test]
    fn incomplete_line_does_not_panic() {
        for line in ["'", "\"", "\\", "$(", "`", "echo \"$(", ">", "((", "}{", "echo é\\"] {
            refused(line);
        }
    }

    proptest! {
        #[test]
        fn any_line_is_handled(line in r#"\PC{0,60}|(rm|-rf|/|\||;|&&|\$\(|`|'|"|\\|<<|>|\n| |sudo|env|xargs|a=b|\{|\}|\*|é){0,20}"#) {
            refused(&line);
            // A suffix must not make a refused line acceptable.
            let before = format!("rm -rf /; {line}");
            prop_assert!(refused(&before).is_some(), "{before:?}");
        }
    }
}
