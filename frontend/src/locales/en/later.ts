import { choose } from './choose'
import { compress } from './compress'
import { editor } from './editor'
import { playground } from './playground'
import { recovery } from './recovery'
import { undo } from './undo'
import { usage } from './usage'
import { xray } from './xray'

/** The words of views that are opened later. They come with `@/lib/later`. */
export const later = {
  ...recovery,
  ...choose,
  ...compress,
  ...editor,
  ...playground,
  ...undo,
  ...usage,
  ...xray,
}
