'use client'

import { useState } from 'react'
import { Badge } from '#components/ui/badge.tsx'
import { Button } from '#components/ui/button.tsx'
import { Confirm } from '#components/ui/confirm.tsx'
import { Drawer } from '#components/ui/dialog.tsx'
import { Menu } from '#components/ui/menu.tsx'
import { showToast } from '#components/ui/toast.ts'

export function OverlayExamples() {
  const [open, setOpen] = useState<'drawer' | 'confirm'>()
  const close = () => setOpen(undefined)
  return (
    <div className="flex flex-wrap gap-2">
      <Button tone="plain" onClick={() => setOpen('drawer')}>
        Open drawer
      </Button>
      <Button tone="danger" onClick={() => setOpen('confirm')}>
        Delete data
      </Button>
      <Button tone="plain" onClick={() => showToast({ title: 'Token renamed' })}>
        Show toast
      </Button>
      <Button
        tone="plain"
        onClick={() =>
          showToast({ title: 'Search deleted', undo: { label: 'Undo', run: () => showToast({ title: 'Restored' }) } })
        }
      >
        Show toast with undo
      </Button>
      <Button tone="plain" onClick={() => showToast({ title: 'Not saved', tone: 'danger' })}>
        Show failure
      </Button>
      <Menu
        trigger={<Button tone="plain">More</Button>}
        items={[
          { key: 'rename', label: 'Rename', onSelect: () => {} },
          { key: 'shown', label: 'A choice', isChecked: true, onSelect: () => {}, group: 'View' },
          { key: 'revoke', label: 'Revoke token', tone: 'danger', onSelect: () => {} },
        ]}
      />
      <Drawer
        open={open === 'drawer'}
        onOpenChange={close}
        title="Request of Kim Example"
        status={<Badge tone="warning">In grace period</Badge>}
        footer={<Button size="small">Assign to me</Button>}
      >
        <p>The record, beside the list that it was opened from.</p>
      </Drawer>
      <Confirm
        open={open === 'confirm'}
        onOpenChange={close}
        title="Delete 3 records"
        consequences={<p>They are deleted from every store. This cannot be undone.</p>}
        action="Delete records"
        change={{ isPending: false, problem: undefined, reset: () => {} }}
        onConfirm={close}
      />
    </div>
  )
}
