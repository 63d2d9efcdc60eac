/** The settings. */
export const settings = {
  settings: 'Settings',
  general: 'General',
  readAloud: 'Read replies aloud when they are complete',
  readAloudHint: 'For screen readers.',
  solidPanes: 'Solid panes',
  languages: 'Language',
  settingsApprovals: 'Allowed without asking',
  settingsApprovalsHint:
    'Each line is one exact input to one tool. Everything else follows the policy in config.yml.',
  noRules: 'Nothing is allowed without asking beyond the policy in config.yml.',
  ruleSince: 'since {at}',
  removeRule: 'Ask again about {tool}',
  ruleRemoved: 'It is asked about again.',
  about: 'About',
  aboutHome: 'Folder',
  aboutSandbox: 'Sandbox',
  aboutVersion: 'Version',
  plainHttp:
    'This page came over plain http: whoever is on the way can read and change it. Put TLS in front, or use an SSH tunnel.',
  sandboxOff: 'The sandbox is off: what the agent runs can read and change everything you can.',
  levelStrict: 'strict',
  levelStandard: 'standard',
  levelOff: 'off',
}
