'use client'

import * as Radix from '@radix-ui/react-dropdown-menu'
import { clsx } from 'clsx'
import { Check } from 'lucide-react'
import { type ComponentProps, Fragment, type ReactElement, type ReactNode } from 'react'
import { PageLink } from './page-link.tsx'

export interface MenuItem {
  key: string
  label: ReactNode
  href?: string
  onSelect?: () => void
  tone?: 'danger'
  isDisabled?: boolean
  /** Makes the item a checkbox; the menu stays open when it is chosen. */
  isChecked?: boolean
  /** A heading above this item. */
  group?: string
}
export interface MenuProps {
  /** The button that opens the menu. */
  trigger: ReactElement<ComponentProps<'button'>>
  items: readonly MenuItem[]
  lead?: ReactNode
}

const itemLook =
  'flex min-h-9 cursor-default items-center gap-2 rounded-small px-3 py-1.5 outline-none data-highlighted:bg-sunken data-disabled:opacity-60'

function Item({ item: { label, href, onSelect, tone, isDisabled, isChecked } }: { item: MenuItem }) {
  const state = { ...(isDisabled && { disabled: true }), className: clsx(itemLook, tone === 'danger' && 'text-red') }
  if (isChecked !== undefined)
    return (
      <Radix.CheckboxItem
        {...state}
        checked={isChecked}
        onCheckedChange={() => onSelect?.()}
        onSelect={(event) => event.preventDefault()}
      >
        <span aria-hidden className="inline-flex size-4 shrink-0 items-center justify-center">
          {isChecked && <Check className="size-4 text-accent" />}
        </span>
        {label}
      </Radix.CheckboxItem>
    )
  return (
    <Radix.Item {...state} {...(onSelect && { onSelect })} asChild={href !== undefined}>
      {href === undefined ? label : <PageLink href={href}>{label}</PageLink>}
    </Radix.Item>
  )
}

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
        className="z-50 grid max-h-[70vh] max-w-80 min-w-48 overflow-y-auto rounded-box border border-line bg-raised p-1 shadow-md"
      >
        {lead && <div className="border-b border-line px-3 py-2 text-sm text-quiet">{lead}</div>}
        {items.map((item) => (
          <Fragment key={item.key}>
            {item.group !== undefined && (
              <Radix.Label className="px-3 pt-2 pb-1 text-sm text-quiet not-first:border-t not-first:border-line">
                {item.group}
              </Radix.Label>
            )}
            <Item item={item} />
          </Fragment>
        ))}
      </Radix.Content>
    </Radix.Portal>
  </Radix.Root>
)
