import type { undo as en } from '../en/undo'

export const undo: Record<keyof typeof en, string> = {
  undoLimits: '将每个文件恢复到本次运行之前的内容。仅撤销文件工具所做的更改，不撤销命令的影响。',
  undoBusy: '此对话正在运行。请等待完成，或先停止运行。',
  undoNothing: '没有可撤销的改动。',
  undoStays: '此后又有更改，不会撤销。',
  undoDiff: '撤销后 {path} 的更改',
  operationsNone: '此对话中还没有提问。',
  operationsCount: '{n} 项操作',
  operationsShow: '在对话中显示',
  operationNotRun: '未执行',
  undoChanges: '撤销 {n} 项改动',
}
