'use client'

import * as Radix from '@radix-ui/react-dropdown-menu'
import { clsx } from 'clsx'
import Link from 'next/link'
import type { ComponentProps, ReactElement, ReactNode } from 'react'

export interface MenuItem {
  key: string
  label: ReactNode
  href?: string
  onSelect?: () => void
  tone?: 'danger'
  isDisabled?: boolean
}
export interface MenuProps {
  /** The button that opens the menu. */
  trigger: ReactElement<ComponentProps<'button'>>
  items: readonly MenuItem[]
  lead?: ReactNode
}

const itemLook =
  'flex min-h-9 cursor-default items-center gap-2 rounded-small px-3 py-1.5 outline-none data-highlighted:bg-sunken data-disabled:opacity-60'

interface DrawnMenuProps extends MenuProps {
  open: boolean
  onOpenChange: (open: boolean) => void
}
/** See {@link MenuProps}; built on Radix. */
export const DrawnMenu = ({ trigger, items, lead, open, onOpenChange }: DrawnMenuProps) => (
  <Radix.Root modal={false} open={open} onOpenChange={onOpenChange}>
    <Radix.Trigger asChild>{trigger}</Radix.Trigger>
    <Radix.Portal>
      <Radix.Content
        align="end"
        sideOffset={4}
        className="z-50 grid max-w-80 min-w-48 rounded-box border border-line bg-raised p-1 shadow-md"
      >
        {lead && <div className="border-b border-line px-3 py-2 text-sm text-quiet">{lead}</div>}
        {items.map(({ key, label, href, onSelect, tone, isDisabled }) => (
          <Radix.Item
            key={key}
            {...(onSelect && { onSelect })}
            {...(isDisabled && { disabled: true })}
            asChild={href !== undefined}
            className={clsx(itemLook, tone === 'danger' && 'text-red')}
          >
            {href === undefined ? label : <Link href={href}>{label}</Link>}
          </Radix.Item>
        ))}
      </Radix.Content>
    </Radix.Portal>
  </Radix.Root>
)
