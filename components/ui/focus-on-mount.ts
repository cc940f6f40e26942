/** A ref for an element that replaces the focused one. The element needs a `tabIndex`. */
export const focusOnMount = (element: HTMLElement | null): void => element?.focus()
