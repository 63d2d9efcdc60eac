import type { model as en } from '../en/model'

export const model: Record<keyof typeof en, string> = {
  model: '模型',
  modelNone: '尚未连接模型',
  modelMissing: '找不到内置模型文件',
  modelStarting: '正在启动',
  modelReading: '正在处理提示词，{n} %',
  modelReady: '就绪',
  modelFailed: '模型无响应',
  modelSmall: '小型演示模型：速度慢且容易出错，建议连接更好的模型。',
  modelSmallShort: '演示模型，建议更换',
  choiceNotSaved: '未能保存模型或权限的选择',
  modelConnect: '连接模型',
  modelChange: '更换模型',
  modelStartingAt: '正在启动，{n} %',
  fromEnvironment: '环境变量',
  fromBuiltIn: '内置',
  fromFound: '在本机检测到',
}
