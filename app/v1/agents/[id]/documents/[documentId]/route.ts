import { app, route } from '#lib/app-instance.ts'

export const GET = route(app.agents.readDocument)
export const PUT = route(app.agents.editDocument)
export const DELETE = route(app.agents.deleteDocument)
