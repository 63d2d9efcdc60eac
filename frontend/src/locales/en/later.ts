import { calls } from './calls'
import { changes } from './changes'
import { choose } from './choose'
import { compress } from './compress'
import { config } from './config'
import { connect } from './connect'
import { conversation } from './conversation'
import { editor } from './editor'
import { elicitation } from './elicitation'
import { git } from './git'
import { mcp } from './mcp'
import { members } from './members'
import { people } from './people'
import { permission } from './permission'
import { playground } from './playground'
import { preferences } from './preferences'
import { projects } from './projects'
import { providers } from './providers'
import { queue } from './queue'
import { recovery } from './recovery'
import { skills } from './skills'
import { tour } from './tour'
import { undo } from './undo'
import { usage } from './usage'
import { xray } from './xray'

/** The texts of views that are loaded later. They come with `@/lib/later`. */
export const later = {
  ...calls,
  ...recovery,
  ...changes,
  ...choose,
  ...compress,
  ...config,
  ...connect,
  ...conversation,
  ...editor,
  ...elicitation,
  ...git,
  ...mcp,
  ...members,
  ...people,
  ...permission,
  ...playground,
  ...preferences,
  ...projects,
  ...providers,
  ...queue,
  ...skills,
  ...tour,
  ...undo,
  ...usage,
  ...xray,
}
