export const addressOfAgent = (id: string): string => `/admin/tokens/${encodeURIComponent(id)}`
