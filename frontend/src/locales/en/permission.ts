/** What may run in a conversation. */
export const permission = {
  modeDefaultHint: 'As in the settings',
  modeReadOnlyHint: 'Changes and commands are denied',
  modePlanHint: 'Writes a plan; changes and commands are denied',
  modeAskHint: 'Changes, commands and web access need approval',
  modeSandboxedHint: 'Commands run in the sandbox without approval',
  sandboxedSure: 'Run sandboxed commands without approval?',
  sandboxedMeans:
    'In this conversation, commands run without asking if they stay in the sandbox: they write only in scratch/ and have no network access.',
  sandboxedStill: 'Everything else asks as before. After untrusted content was read, commands ask again.',
  sandboxedConfirm: 'Allow in this conversation',
  planReady: 'This conversation is set to plan.',
  planStart: 'Carry out the plan',
  planStartHint: 'Switches back to the default permissions and sends “Carry out the plan.”',
  planMessage: 'Carry out the plan.',
}
