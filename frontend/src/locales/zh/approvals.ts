import type { approvals as en } from '../en/approvals'

export const approvals: Record<keyof typeof en, string> = {
  stepApproval: '等待批准',
  stepDenied: '已拒绝',
  approvalNeeded: '需要批准：{tool}',
  approvalState: '待批准',
  approvalExpired: '此请求已过期，已自动拒绝。',
  verdictOnce: '你已允许一次',
  verdictAlways: '你已始终允许此命令',
  verdictChanged: '你已修改参数并允许',
  verdictDenied: '你已拒绝',
  verdictReason: '你已拒绝：{reason}',
  verdictExpired: '请求超时，已自动拒绝',
  verdictCancelled: '处理前已取消',
  callsNotRun: '未运行的调用',
  deniedByPolicy: '已按批准策略拒绝',
  expired: '已过期',
  allowOldest: '允许最早的请求（一次）',
  allowStep: '允许此步骤的所有请求（一次）',
  deny: '拒绝',
  denyOldest: '拒绝最早的请求',
}
