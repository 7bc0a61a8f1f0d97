//! Insights of the update status API (`update.openshift.io/v1alpha1`), as data with the API's field names.
