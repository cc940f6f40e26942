'use client'

import { cloneElement, useState } from 'react'
import { useLoaded } from './loaded.ts'
import type { MenuProps } from './menu-drawn.tsx'

const drawn = () => import('./menu-drawn.tsx')

/** A button with a menu of actions. */
export function Menu(props: MenuProps) {
  const [open, setOpen] = useState(false)
  const loaded = useLoaded(drawn, open)
  if (loaded) return <loaded.DrawnMenu {...props} open={open} onOpenChange={setOpen} />
  return cloneElement(props.trigger, {
    'aria-haspopup': 'menu',
    'aria-expanded': false,
    onClick: () => setOpen(true),
  })
}
