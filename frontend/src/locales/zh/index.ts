import type { Words } from '../en'
import { approvals } from './approvals'
import { attach } from './attach'
import { calls } from './calls'
import { causes } from './causes'
import { changes } from './changes'
import { chat } from './chat'
import { choose } from './choose'
import { compress } from './compress'
import { config } from './config'
import { connect } from './connect'
import { context } from './context'
import { conversation } from './conversation'
import { editor } from './editor'
import { elicitation } from './elicitation'
import { files } from './files'
import { general } from './general'
import { git } from './git'
import { keyboard } from './keyboard'
import { mcp } from './mcp'
import { members } from './members'
import { model } from './model'
import { people } from './people'
import { permission } from './permission'
import { playground } from './playground'
import { preferences } from './preferences'
import { project } from './project'
import { projects } from './projects'
import { providers } from './providers'
import { queue } from './queue'
import { recovery } from './recovery'
import { retrieval } from './retrieval'
import { server as sentences } from './server'
import { sessions } from './sessions'
import { settings } from './settings'
import { skills } from './skills'
import { tour } from './tour'
import { undo } from './undo'
import { usage } from './usage'
import { xray } from './xray'

/** Translations of the server's texts. */
export const server: Record<string, string> = { ...sentences, ...causes }

/** A missing key does not compile. */
export const zh: Record<keyof Words, string> = {
  ...general,
  ...sessions,
  ...recovery,
  ...choose,
  ...compress,
  ...config,
  ...connect,
  ...context,
  ...conversation,
  ...model,
  ...changes,
  ...chat,
  ...attach,
  ...approvals,
  ...calls,
  ...settings,
  ...tour,
  ...undo,
  ...usage,
  ...xray,
  ...retrieval,
  ...mcp,
  ...members,
  ...people,
  ...permission,
  ...playground,
  ...preferences,
  ...project,
  ...projects,
  ...providers,
  ...queue,
  ...skills,
  ...editor,
  ...elicitation,
  ...files,
  ...git,
  ...keyboard,
}
