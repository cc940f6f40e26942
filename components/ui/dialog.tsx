'use client'

import type { DialogProps } from './dialog-drawn.tsx'
import { useLoaded } from './loaded.ts'

const drawn = () => import('./dialog-drawn.tsx')

/** A modal dialog. Esc and the close button dismiss it and return the focus. */
export function Dialog(props: DialogProps) {
  const loaded = useLoaded(drawn, props.open)
  return loaded ? <loaded.DrawnDialog shape="dialog" {...props} /> : null
}

/**
 * A record beside the list that it was opened from: on the right, and on a phone over the whole screen. The address should hold the id of
 * the open record (`useQueryState`).
 */
export function Drawer(props: DialogProps) {
  const loaded = useLoaded(drawn, props.open)
  return loaded ? <loaded.DrawnDialog shape="sheet" {...props} /> : null
}

/** The navigation on a phone: on the left. */
export function SideSheet(props: DialogProps) {
  const loaded = useLoaded(drawn, props.open)
  return loaded ? <loaded.DrawnDialog shape="menu" {...props} /> : null
}
