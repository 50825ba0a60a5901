"use strict";

const docs = document.getElementById("docs");
SwaggerUIBundle({
  domNode: docs,
  url: docs.dataset.schema,
  deepLinking: true,
  persistAuthorization: false,
  validatorUrl: null,
});
