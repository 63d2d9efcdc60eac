import type { undo as en } from '../en/undo'

export const undo: Record<keyof typeof en, string> = {
  undoLimits: '每个文件恢复到这次工作之前的内容。只撤销用文件工具所做的改动；命令造成的影响不会撤销。',
  undoBusy: '这个对话正在运行。请等它完成，或先停止它。',
  undoNothing: '没有可撤销的改动了。',
  undoStays: '该文件在那之后又被改动，因此保持不变。',
  undoDiff: '撤销后 {path} 的变化',
  undoChanges: '撤销 {n} 处改动',
}
