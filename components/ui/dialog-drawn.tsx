'use client'

import * as Radix from '@radix-ui/react-dialog'
import { clsx } from 'clsx'
import { X } from 'lucide-react'
import { useTranslations } from 'next-intl'
import { type ReactNode, type RefObject, useInsertionEffect, useRef } from 'react'
import { DialogFooter } from './dialog-footer.tsx'

export interface DialogProps {
  open: boolean
  onOpenChange: (open: boolean) => void
  title: ReactNode
  lead?: ReactNode
  children: ReactNode
  /** A status badge beside the title. */
  status?: ReactNode
  /** Buttons that stay at the bottom while the content scrolls. */
  footer?: ReactNode
  /** Shortcuts of the page stay active while it is open: for a drawer that follows the current row. */
  letsKeysThrough?: boolean
}

const shade = 'fixed inset-0 z-40 bg-ink/30 dark:bg-black/60'

/** The focused element. For a menu item, which disappears with its menu, the button of the menu. */
function focused(): HTMLElement | null {
  const at = document.activeElement
  const menu = at?.closest('[role=menu]')
  if (menu) return document.getElementById(menu.getAttribute('aria-labelledby') ?? '')
  return at instanceof HTMLElement ? at : null
}

function Content({
  title,
  lead,
  status,
  footer,
  children,
  letsKeysThrough,
  className,
  opener,
}: Omit<DialogProps, 'open' | 'onOpenChange'> & { className: string; opener: RefObject<HTMLElement | null> }) {
  const t = useTranslations('common')
  return (
    <Radix.Portal>
      <Radix.Overlay className={shade} />
      <Radix.Content
        className={clsx(
          'fixed z-50 overflow-y-auto overscroll-contain scroll-pb-20 border-line bg-paper p-5 outline-none sm:p-6',
          className,
        )}
        onCloseAutoFocus={(event) => {
          // Radix returns the focus to its own trigger, but these dialogs have none.
          event.preventDefault()
          if (opener.current?.isConnected) opener.current.focus()
        }}
        {...(letsKeysThrough && { 'data-keys': '' })}
        {...(lead === undefined && { 'aria-describedby': undefined })}
      >
        <div className="grid gap-5">
          <header className="grid gap-2 pr-10">
            <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
              <Radix.Title className="min-w-0 text-lg font-semibold wrap-anywhere">{title}</Radix.Title>
              {status}
            </div>
            {lead !== undefined && (
              <Radix.Description asChild>
                <div className="grid gap-2 text-quiet">{lead}</div>
              </Radix.Description>
            )}
          </header>
          {children}
          {footer && <DialogFooter>{footer}</DialogFooter>}
        </div>
        <Radix.Close className="absolute top-4 right-4 inline-flex size-9 items-center justify-center rounded-small text-quiet hover:bg-sunken hover:text-ink">
          <X aria-hidden className="size-4.5" />
          <span className="sr-only">{t('close')}</span>
        </Radix.Close>
      </Radix.Content>
    </Radix.Portal>
  )
}

const shapes = {
  dialog: 'inset-x-3 top-[max(1rem,8vh)] mx-auto max-h-[84vh] max-w-xl rounded-box border',
  sheet: 'inset-y-0 right-0 w-full max-w-xl border-l max-sm:border-0',
  menu: 'inset-y-0 left-0 w-full max-w-72 border-r',
}

/** See {@link DialogProps}. Radix traps the focus. */
export function DrawnDialog({ open, onOpenChange, shape, ...rest }: DialogProps & { shape: keyof typeof shapes }) {
  const opener = useRef<HTMLElement>(null)
  // Insertion effects run before a field of the dialog takes the focus.
  useInsertionEffect(() => {
    if (open) opener.current = focused()
  }, [open])
  return (
    <Radix.Root open={open} onOpenChange={onOpenChange}>
      <Content className={shapes[shape]} opener={opener} {...rest} />
    </Radix.Root>
  )
}
