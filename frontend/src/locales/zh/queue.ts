import type { queue as en } from '../en/queue'

export const queue: Record<keyof typeof en, string> = {
  queue: '排队的消息',
  queueWaits: '{n} 条消息将在本次回复后发送',
  queuePaused: '队列已暂停：{n} 条消息',
  queuedFiles: '{n} 个文件',
  sendNow: '立即发送',
  editQueued: '编辑消息',
  removeQueued: '移出队列',
  removedQueued: '已移出队列。',
}
