'use client'

import type { DialogProps } from './dialog-drawn.tsx'
import { useLoaded } from './loaded.ts'

const drawn = () => import('./dialog-drawn.tsx')

/** A modal dialog. Esc and the close button dismiss it and return the focus. */
export function Dialog(props: DialogProps) {
  const loaded = useLoaded(drawn, props.open)
  return loaded ? <loaded.DrawnDialog shape="dialog" {...props} /> : null
}

/** A drawer on the right; on a phone it fills the screen. */
export function Sheet(props: DialogProps) {
  const loaded = useLoaded(drawn, props.open)
  return loaded ? <loaded.DrawnDialog shape="sheet" {...props} /> : null
}
