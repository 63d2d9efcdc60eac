import type { Plugin } from 'vite'

export function inScript(code: string): string
export function documentWith(code: string): string
export function diagramDocument(): Plugin
