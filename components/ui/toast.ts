'use client'

export interface Toast {
  /** What happened: "Token revoked". */
  title: string
  /** Reverts it, where the domain allows that. */
  undo?: { label: string; run: () => void }
  tone?: 'success' | 'danger'
}

const name = 'console-toast'

/**
 * Confirms an action without taking the focus, until the person closes it or does something else. For results that stay valid without reading: a rejection belongs beside its form, and
 * something that the reader must keep (a token, a link) on the page.
 */
export function showToast(toast: Toast): void {
  window.dispatchEvent(new CustomEvent<Toast>(name, { detail: toast }))
}

/** Calls `receive` for every toast until the returned function is called. */
export function onToast(receive: (toast: Toast) => void): () => void {
  const listen = (event: Event) => {
    if (event instanceof CustomEvent) receive(event.detail)
  }
  window.addEventListener(name, listen)
  return () => window.removeEventListener(name, listen)
}
