import type { usage as en } from '../en/usage'

export const usage: Record<keyof typeof en, string> = {
  usageHint: '由服务商统计。不包括已删除的对话，以及不提供用量的服务商。',
  usageNone: '暂无用量。',
  usageChart: '每日词元用量，最多 {most}',
  usageOfDay: '{day}：新输入 {fresh}，缓存输入 {cached}，输出 {output}',
  usageByModel: '按模型',
  usageByDay: '按日',
  usageAsTable: '以表格显示',
  usageDay: '日期',
  usageWorks: '消息',
  usageInput: '输入',
  usageFresh: '新输入',
  usageCached: '缓存输入',
  usageOutput: '输出',
  usageTotal: '合计',
  usageUnnamed: '未知模型',
}
