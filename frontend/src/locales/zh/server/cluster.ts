/** Translations of what the server says of a home in a database and of several servers. */
export const cluster: Record<string, string> = {
  config_elsewhere: '服务商和设置属于整个服务器，请在其 config.yml 和 .env 中修改。',
  config_of_cluster: '集群的每个服务器都有自己的 config.yml，请在所有服务器上作相同的修改。',
  no_sharing_in_database: '此服务器的主文件夹保存在数据库中，无法共享项目。每个人只能使用自己的项目。',
  home_moving: '此主文件夹正在转移到另一个服务器，请稍后重试。',
  cache_gone: '服务器运行时其文件夹被删除。请重新启动，数据库会恢复所有内容。',
  database_failed: '数据库出错，未保存更改。',
  database_interrupted: '与数据库的连接已断开。连接恢复前不会确认任何更改，请稍后重试。',
  database_read_only: '数据库不接受更改：它是备用服务器，或处于只读状态。',
  database_unreachable: '无法连接数据库，请检查它是否正在运行。',
  database_went_back:
    '数据库回到了更早的状态（从备份恢复，或切换到缺少最近提交的备用服务器），不再保存任何更改；此副本仍保留全部内容。请联系管理员。',
  fenced: '另一个服务器已接管此主文件夹，或此主文件夹正在关闭。未写入任何内容，请重试。',
}
