/** What miniclaw did in a conversation, and the preview of undoing a work. */
export const undo = {
  undoLimits:
    'Restores each file to its content before this run. Only changes made with file tools are undone; the effects of commands are not.',
  undoBusy: 'This conversation is running. Wait until it’s done, or stop it.',
  undoNothing: 'Nothing to undo.',
  undoStays: 'Changed since then. It won’t be undone.',
  undoDiff: 'Changes to {path} when undone',
  operationsNone: 'Nothing was asked in this conversation yet.',
  operationsCount: '{n} {n|operation|operations}',
  operationsShow: 'Show in conversation',
  operationNotRun: 'Not run',
  undoChanges: 'Undo {n} {n|change|changes}',
}
