import { approvals } from './approvals'
import { archive } from './archive'
import { attach } from './attach'
import { chat } from './chat'
import { context } from './context'
import { files } from './files'
import { general } from './general'
import { keyboard } from './keyboard'
import { model } from './model'
import { playground } from './playground'
import { retrieval } from './retrieval'
import { sessions } from './sessions'
import { settings } from './settings'
import { xray } from './xray'

/** Every word of the interface, by area. `{name}` marks a place that is filled in. */
export const en = {
  ...general,
  ...sessions,
  ...archive,
  ...context,
  ...model,
  ...chat,
  ...attach,
  ...approvals,
  ...settings,
  ...xray,
  ...retrieval,
  ...playground,
  ...files,
  ...keyboard,
}
