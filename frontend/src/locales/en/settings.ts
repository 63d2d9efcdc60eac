/** The settings. */
export const settings = {
  settings: 'Settings',
  general: 'General',
  readAloud: 'Announce completed responses',
  readAloudHint: 'For screen readers.',
  solidPanes: 'Reduce transparency',
  languages: 'Language',
  settingsApprovals: 'Always allowed',
  settingsApprovalsHint:
    'Each entry is one exact tool input. Everything else follows the rules for approvals.',
  noRules: 'Nothing is always allowed.',
  ruleSince: 'since {at}',
  removeRule: 'Remove rule for {tool}',
  ruleRemoved: 'Rule removed. miniclaw asks again.',
  about: 'About',
  aboutHome: 'Home folder',
  aboutSandbox: 'Sandbox',
  aboutCommands: 'Commands',
  aboutVersion: 'Version',
  plainHttp:
    'This connection isn’t encrypted. Others on the network can read and change it. Use HTTPS or an SSH tunnel.',
  sandboxOff: 'The sandbox is off. Commands can read and change everything you can.',
  levelStrict: 'strict',
  levelStandard: 'standard',
  levelOff: 'off',
}
