'use client'

import type { DialogProps } from './dialog-drawn.tsx'
import { useLoaded } from './loaded.ts'

const drawn = () => import('./dialog-drawn.tsx')

/** Something that has to be looked at before anything else. Esc and the close button leave it; the focus goes back to where it was. */
export function Dialog(props: DialogProps) {
  const loaded = useLoaded(drawn, props.open)
  return loaded ? <loaded.DrawnDialog shape="dialog" {...props} /> : null
}

/** A drawer at the right; on a phone the whole screen. */
export function Sheet(props: DialogProps) {
  const loaded = useLoaded(drawn, props.open)
  return loaded ? <loaded.DrawnDialog shape="sheet" {...props} /> : null
}
