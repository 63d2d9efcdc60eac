import type { undo as en } from '../en/undo'

export const undo: Record<keyof typeof en, string> = {
  undoLimits: '将每个文件恢复到本次运行之前的内容。命令对文件的更改也会撤销；已发送到网络的内容不会撤销。',
  undoBusy: '此对话正在运行。请等待完成，或先停止运行。',
  undoNothing: '没有可撤销的改动。',
  undoStays: '此后又有更改，不会撤销。',
  undoDiff: '撤销后 {path} 的更改',
  operationsNone: '此对话中还没有提问。',
  operationsCount: '{n} 项操作',
  operationsShow: '在对话中显示',
  operationNotRun: '未执行',
  undoChanges: '撤销 {n} 项改动',
  withdrawTitle: '撤回此消息及其回复',
  withdrawLimits:
    '将每个文件恢复到此回复之前的内容，此后的请求不再包含该消息和回复。它们仍保留在对话中，可以重新应用。命令对文件的更改也会撤回；已发送到网络的内容不会撤回。',
  withdrawNoFiles: '此回复未更改任何文件。',
  withdrawBlocked: '有 {n} 个文件无法恢复：请保留这些文件的现状，或先撤回之后的回复。',
  withdrawDeletes: '将被删除',
  withdrawCreates: '将重新创建',
  withdrawChanges: '将恢复到之前的内容',
  withdrawSame: '保持不变',
  withdrawKept: '保留现状',
  withdrawChanged: '此文件在该回复之后又有更改。',
  withdrawNotKept: '此文件之前的内容已不再保留。',
  withdrawLater: '之后的回复也更改了此文件：“{question}”',
  withdrawKeep: '保留此文件的现状',
  withdrawOther: '先撤回那条回复',
}
