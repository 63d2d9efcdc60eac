/** What miniclaw did in a conversation, and the previews of undoing and withdrawing a work. */
export const undo = {
  undoLimits:
    'Restores each file to its content before this run, also where a command changed it. What was sent over the network stays.',
  undoBusy: 'This conversation is running. Wait until it’s done, or stop it.',
  undoNothing: 'Nothing to undo.',
  undoStays: 'Changed since then. It won’t be undone.',
  undoDiff: 'Changes to {path} when undone',
  operationsNone: 'Nothing was asked in this conversation yet.',
  operationsCount: '{n} {n|operation|operations}',
  operationsShow: 'Show in conversation',
  operationNotRun: 'Not run',
  undoChanges: 'Undo {n} {n|change|changes}',
  withdrawTitle: 'Withdraw this message and its response',
  withdrawLimits:
    'Restores each file to its content before this response, and leaves the message and the response out of all further requests. They stay in the conversation, and you can reapply them. What a command changed in files is taken back too. What was sent over the network stays.',
  withdrawNoFiles: 'This response changed no files.',
  withdrawBlocked:
    '{n} {n|file is|files are} in the way: keep {n|it|them} as {n|it is|they are}, or withdraw the later responses first.',
  withdrawDeletes: 'will be deleted',
  withdrawCreates: 'will be created again',
  withdrawChanges: 'gets its earlier content',
  withdrawSame: 'stays the same',
  withdrawKept: 'is kept as it is',
  withdrawChanged: 'This file was changed after the response.',
  withdrawNotKept: 'What this file was before is no longer kept.',
  withdrawLater: 'A later response changed this file too: “{question}”',
  withdrawKeep: 'Keep this file as it is',
  withdrawOther: 'Withdraw that response first',
}
