import type { preferences as en } from '../en/preferences'

export const preferences: Record<keyof typeof en, string> = {
  labelNew: '新标签',
  labelAdd: '添加',
  settingsSearch: '搜索设置',
  settingsSections: '分类',
  settingsMemory: '记忆与搜索',
  settingsTools: '工具与技能',
  settingsSkills: '技能',
  settingsSkillsHint:
    '每个技能是 skills/ 中的一个文件夹。打开技能即可查看，并信任其当前版本。停用的技能仍保留在文件夹中，但不会提供给模型。',
  skillTrusted: '已信任',
  skillEnabled: '已启用',
  skillDisabled: '已停用',
  skillEnable: '启用 {name}',
  settingsToolsHint: '每个工具能做什么。是否先询问，由批准规则决定。',
  settingsData: '数据',
  effectRead: '读取文件',
  effectWrite: '更改文件',
  effectExecute: '运行命令',
  effectNetwork: '使用网络',
  embedderReady: '搜索同时匹配关键词和语义（{model}）。',
  embedderUnloaded: '语义搜索的模型会在首次搜索时加载。',
  dataInDatabase:
    'miniclaw 的全部内容都保存在数据库中，这个文件夹只是其副本。复制该文件夹不等于备份，请由服务器管理员使用“miniclaw backup”备份。',
  dataHome: 'miniclaw 的全部内容都以普通文件的形式保存在这个文件夹中。复制该文件夹即可备份。',
  dataCopyHome: '复制路径',
  dataExportHint: '导出当前对话：',
  dataRecoveryHint: '已删除的对话和文件，以及当前对话中已压缩的部分：',
}
