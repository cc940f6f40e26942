import { app, route } from '#lib/app-instance.ts'

export const DELETE = route(app.erasing.eraseDocument)
export const GET = route(app.projects.readDocument)
