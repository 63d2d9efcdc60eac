import { approvals } from './approvals'
import { attach } from './attach'
import { chat } from './chat'
import { context } from './context'
import { files } from './files'
import { general } from './general'
import { keyboard } from './keyboard'
import type { later } from './later'
import { model } from './model'
import { project } from './project'
import { retrieval } from './retrieval'
import { sessions } from './sessions'
import { settings } from './settings'

/**
 * The texts that are loaded from the start, by area; those of later views are in `later.ts`. `{name}` is a
 * placeholder.
 */
export const en = {
  ...general,
  ...sessions,
  ...context,
  ...model,
  ...chat,
  ...attach,
  ...approvals,
  ...settings,
  ...project,
  ...retrieval,
  ...files,
  ...keyboard,
}

export type Words = typeof en & typeof later
