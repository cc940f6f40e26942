'use client'

import { type ComponentProps, cloneElement, type ReactElement, type ReactNode, useState } from 'react'
import { useLoaded } from './loaded.ts'

export interface MenuItem {
  key: string
  label: ReactNode
  href?: string
  onSelect?: () => void
  tone?: 'danger'
  isDisabled?: boolean
}
export interface MenuProps {
  /** The button that opens it. */
  trigger: ReactElement<ComponentProps<'button'>>
  items: readonly MenuItem[]
  lead?: ReactNode
}

const drawn = () => import('./menu-drawn.tsx')

/** What can be done, behind one button. */
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
