/** The queue of messages above the composer. */
export const queue = {
  queue: 'Queued messages',
  queueWaits: '{n} {n|message|messages} will be sent after this response',
  queuePaused: 'Queue paused: {n} {n|message|messages}',
  queuedFiles: '{n} {n|file|files}',
  sendNow: 'Send now',
  editQueued: 'Edit message',
  removeQueued: 'Remove from queue',
  removedQueued: 'Removed from the queue.',
}
